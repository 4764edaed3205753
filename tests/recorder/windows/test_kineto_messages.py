"""Messages of Kineto on stderr: left out, and nothing of the program with them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from torch_tb_profiler.recorder.windows.kineto_messages import LOG_LEVEL, OF_THREAD, silence


def in_thread(work: object) -> None:
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_only_the_message_is_left_out(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LOG_LEVEL, raising=False)

    def work() -> None:
        os.write(2, b"before\n")
        with silence():
            os.write(2, b"one\n" + OF_THREAD + b" (1 != 2)\nanother\nhalf a")
            command = [sys.executable, "-c", "import sys; sys.stderr.write(' line\\n')"]
            subprocess.run(command, check=True)
            os.write(2, b"rest")
        os.write(2, b"\nafter\n")

    in_thread(work)
    assert capfd.readouterr().err == "before\none\nanother\nhalf a line\nrest\nafter\n"
    assert LOG_LEVEL not in os.environ


def test_a_program_that_sets_the_level_has_its_messages(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LOG_LEVEL, "0")

    def work() -> None:
        with silence():
            os.write(2, OF_THREAD + b"\n")

    in_thread(work)
    assert capfd.readouterr().err.encode() == OF_THREAD + b"\n"


def test_a_closed_stderr_stays_closed() -> None:
    program = (
        "import os, threading\n"
        "from torch_tb_profiler.recorder.windows.kineto_messages import silence\n"
        "os.close(2)\n"
        "def work():\n"
        "    with silence(): pass\n"
        "    try: os.fstat(2)\n"
        "    except OSError: print('closed')\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"closed\n"
