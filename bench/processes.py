"""Runs a command and measures it from outside: wall time and peak memory, children included."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.02
"""Looking costs time on the cores that are measured: 5 ms made two workers a seventh slower."""
BYTECODE = Path(__file__).resolve().parent / "out" / "bytecode"


@dataclass(frozen=True)
class Measured:
    """One run of a command.

    Attributes:
        wall_s: From start to end, start-up of the interpreter included.
        peak_rss_mb: Largest resident memory of the process and all its descendants together,
            in 10⁶ bytes.
        cpu_s: CPU time of all of them.
        output: What it printed.
    """

    wall_s: float
    peak_rss_mb: float
    cpu_s: float
    output: str


def measured(command: Sequence[str]) -> Measured:
    """Run ``command`` and measure it. Its bytecode is kept, as that of an installed package is.

    Raises:
        RuntimeError: it fails; the message holds what it printed on stderr.
    """
    started_s = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        peak = Peak(process.pid)
        watcher = threading.Thread(target=peak.watch, daemon=True)
        watcher.start()
        output, errors = _read(process)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started_s
        process.returncode = os.waitstatus_to_exitcode(status)
        peak.stop.set()
        watcher.join()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {errors.decode(errors='replace')}")
    return Measured(
        wall_s=wall_s,
        peak_rss_mb=peak.rss_bytes / 1e6,
        cpu_s=usage.ru_utime + usage.ru_stime,
        output=output.decode(),
    )


def environment() -> dict[str, str]:
    """This process's, with bytecode kept in a folder of the benchmarks."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"PYTHONPYCACHEPREFIX": str(BYTECODE)}


def _read(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Both streams to their ends, without waiting for the process (``wait4`` must do that)."""
    errors: list[bytes] = []
    assert process.stdout is not None
    assert process.stderr is not None
    reader = threading.Thread(target=lambda stream: errors.append(stream.read()),
                              args=(process.stderr,), daemon=True)  # fmt: skip
    reader.start()
    output = process.stdout.read()
    reader.join()
    return output, errors[0]


class Peak:
    """Looks at the memory again and again. ``ru_maxrss`` will not do: on Linux it starts with
    what the parent had when it forked."""

    def __init__(self, pid: int) -> None:
        self.rss_bytes = 0
        self.stop = threading.Event()
        self._pid = pid
        self._page_bytes = os.sysconf("SC_PAGE_SIZE")

    def watch(self) -> None:
        while not self.stop.wait(POLL_S):
            self.rss_bytes = max(self.rss_bytes, self._tree_rss(self._pid), _high_water(self._pid))

    def _tree_rss(self, pid: int) -> int:
        folder = Path("/proc") / str(pid)
        try:
            pages = int((folder / "statm").read_text().split()[1])
            children = [
                int(child)
                for task in (folder / "task").iterdir()
                for child in (task / "children").read_text().split()
            ]
        except (OSError, IndexError):
            return 0
        return pages * self._page_bytes + sum(map(self._tree_rss, children))


def _high_water(pid: int) -> int:
    """The largest resident memory the process itself ever had, so that no short peak is missed."""
    try:
        status = (Path("/proc") / str(pid) / "status").read_text()
    except OSError:
        return 0
    _, _, rest = status.partition("VmHWM:")
    return int(rest.split()[0]) * 1024 if rest else 0
