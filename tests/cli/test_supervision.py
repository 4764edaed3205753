"""A command within a limit of its address space: it answers as without, or says that memory is
short; a crash of the process that does the work is a reason, other ends pass through."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="limits of Unix")

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "torch_compile_triton"
COMMAND = [sys.executable, "-m", "torch_tb_profiler"]
REPORT = [*COMMAND, "report", str(SAMPLE), "--view", "operators", "--format", "csv", "--no-cache"]


def run(limit_mb: int | None, command: list[str]) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if limit_mb is not None:
            resource.setrlimit(resource.RLIMIT_AS, (limit_mb << 20, limit_mb << 20))

    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, preexec_fn=limit
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
@pytest.mark.parametrize("limit_mb", [150, 320])
def test_too_little_memory_is_a_reason(limit_mb: int) -> None:
    done = run(limit_mb, REPORT)
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "memory" in done.stderr
    assert "--only-steps" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce the limit")
def test_within_a_limit_that_suffices_the_answer_is_the_same() -> None:
    done = run(800, REPORT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(None, REPORT).stdout


CRASH = """
import os, signal, sys
from torch_tb_profiler.cli import supervision
supervision.limit_bytes = lambda: 1 << 40
code = supervision.supervised()
if code is None:
    {}
sys.exit(code if code >= 0 else 100 - code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a child process")
@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os._exit(7)", 7),
        ("os.abort()", 3),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 3),
        ("os.kill(os.getpid(), signal.SIGTERM)", 100 + signal.SIGTERM),
    ],
)
def test_how_the_child_ends(end: str, code: int) -> None:
    done = run(None, [sys.executable, "-c", CRASH.format(end)])
    assert done.returncode == code
    assert ("not enough memory" in done.stderr) is (code == 3)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_child_ends_with_its_parent(number: int, wait: Callable[[int], None]) -> None:
    program = CRASH.format("print(os.getpid(), flush=True); signal.pause()")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        child = int(it.stdout.readline())
        it.send_signal(number)
        assert it.wait(60)
        wait(child)


@pytest.fixture(name="wait")
def wait_for_end() -> Callable[[int], None]:
    """Waits until a process that is no child of this one is gone, or a zombie."""

    def wait(pid: int) -> None:
        for _ in range(600):
            try:
                if ") Z" in Path(f"/proc/{pid}/stat").read_text():
                    return
            except OSError:
                return
            signal.sigtimedwait([], 0.1)
        raise AssertionError(f"{pid} still runs")

    return wait
