"""Programs are started as by a shell: environment, files, signals and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from torch_tb_profiler.recorder import launch
from torch_tb_profiler.recorder.launch import CannotStartError
from torch_tb_profiler.recorder.options import BOOTSTRAP, VARIABLE, Options

PYTHON = sys.executable


def test_the_environment_differs_in_two_variables() -> None:
    options = Options(folder="/run")
    for given, path in (
        ({}, BOOTSTRAP),
        ({"PYTHONPATH": ""}, BOOTSTRAP),
        ({"PYTHONPATH": "a::b"}, f"{BOOTSTRAP}{os.pathsep}a::b"),
    ):
        created = launch.environment(options, "/notes", {"X": "1", **given})
        assert (created.pop("PYTHONPATH"), created.pop("X")) == (path, "1")
        assert list(created) == [VARIABLE]
    assert launch.environment(None, "/notes", {"X": "1"}) == {"X": "1"}


@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ("exit 5", 5, None),
        ("kill -9 $$", -9, "signal SIGKILL"),
        ("kill -PIPE $$", -13, "signal SIGPIPE"),  # python itself ignores this one
    ],
)
def test_exit_codes_and_signals_are_returned(script: str, code: int, reason: str | None) -> None:
    ended = launch.run(["sh", "-c", script], os.environ)
    assert (ended.code, ended.reason) == (code, reason)


def test_open_files_folder_and_arguments_are_inherited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    program = f"import os, sys; os.write({writer}, repr((os.getcwd(), sys.argv[1:])).encode())"
    assert launch.run([PYTHON, "-c", program, "a b", "ü", "--"], os.environ).code == 0
    assert os.read(reader, 1000).decode() == repr((str(tmp_path), ["a b", "ü", "--"]))
    os.close(reader)
    os.close(writer)


def test_start_failures_have_the_exit_codes_of_shells(tmp_path: Path) -> None:
    script = tmp_path / "script"
    for text, mode, code in (
        (None, 0, 127),
        ("#!/bin/sh\n", 0o644, 126),
        ("#!/no/such/interpreter\n", 0o755, 126),
    ):
        if text is not None:
            script.write_text(text)
            script.chmod(mode)
        with pytest.raises(CannotStartError) as raised:
            launch.run([str(script)], os.environ)
        assert raised.value.code == code
        assert str(script) in str(raised.value)


def test_signals_are_forwarded_to_the_program(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    program = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(11))\n"
        f"pathlib.Path({str(ready)!r}).touch(); time.sleep(30)"
    )

    def send() -> None:
        while not ready.exists():
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    sender = threading.Thread(target=send)
    sender.start()
    before = signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert launch.run([PYTHON, "-S", "-c", program], os.environ).code == 11
    after = signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert before == after
    sender.join()
