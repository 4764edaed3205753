"""``open``: serves as ``serve`` does, and opens the address in the browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import webbrowser
from pathlib import Path

import pytest

from torch_tb_profiler.cli import open_command

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/")


@pytest.mark.parametrize(("status", "message"), [(0, False), (1, True)])
def test_the_browser_gets_the_address(
    resnet: Path, tmp_path: Path, status: int, message: bool
) -> None:
    browser, opened_file = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > "{opened_file}.new"\n'
        f'mv "{opened_file}.new" "{opened_file}"\nexit {status}\n'
    )
    browser.chmod(0o755)
    command = [sys.executable, "-m", "torch_tb_profiler", "open", str(resnet), "--token", "secret",
               "--cache-dir", str(tmp_path / "cache")]  # fmt: skip
    environment = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        printed = process.stdout.readline().strip()
        if message:
            assert "open the address" in process.stderr.readline()
        while not opened_file.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert ADDRESS.match(printed)
    assert opened_file.read_text().strip() == printed


def test_other_messages_are_only_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    open_command._announce("Stopped.")
    assert capsys.readouterr().out == "Stopped.\n"
    assert not opened
