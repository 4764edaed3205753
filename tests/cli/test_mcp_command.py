"""``mcp``: what it needs and refuses; Ctrl-C. What it answers is in ``tests/mcp``."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.cli import mcp_command

Run = Callable[..., Done]


def test_without_the_extra_it_says_what_to_install(
    run: Run, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_command, "find_spec", lambda _name: None)
    done = run("mcp", samples)
    assert done.code == 2
    assert "pip install 'torch-tb-profiler[mcp]'" in done.err
    assert done.out == ""


def test_a_missing_path_is_3(run: Run, samples: Path, tmp_path: Path) -> None:
    done = run("mcp", samples, tmp_path / "missing")
    assert done.code == 3
    assert "missing does not exist" in done.err


@pytest.mark.parametrize("token", ["a b", "", "é"])
def test_a_token_that_no_header_has_is_2(run: Run, samples: Path, token: str) -> None:
    done = run("mcp", samples, "--http", "--token", token)
    assert done.code == 2
    assert "--token auto" in done.err


def test_a_used_port_is_2_with_the_next_step(run: Run, samples: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("mcp", samples, "--http", "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "--port" in done.err


@pytest.mark.alone
def test_an_interrupt_ends_it(samples: Path) -> None:
    command = [sys.executable, "-u", "-m", "torch_tb_profiler", "mcp", str(samples), "--http",
               "--port", "0", "--no-cache"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()
