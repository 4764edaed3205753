"""Inputs made to hurt, opened as a user opens them: how each command ended and what it cost.

    python bench/attacks/run.py --seed 1             # all of them
    python bench/attacks/run.py modules-deep nsys-   # those whose names begin so

Each command is ``report FILE --view all --format json --no-cache``. It must end with 0 or 3,
without a traceback, within 10 s of CPU time and 1.5 GB of memory, its processes together.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from figures import SAFETY, Figure, add_options, tell
from processes import Peak, environment
from registry import Attack, all_attacks

MAX_CPU_S = 10.0
MAX_MB = 1500.0
GIVE_UP_S = 90.0
"""A command that runs longer is killed, and counts as failed."""

GIVE_UP_BYTES = 8 << 30
"""One that takes more memory likewise."""


@dataclass(frozen=True)
class Outcome:
    """How one command ended.

    Attributes:
        name: The attack.
        code: Exit code; negative for a signal.
        cpu_s: CPU time of its processes.
        peak_mb: Their largest memory together, in 10⁶ bytes.
        wall_s: From start to end.
        bytes: Size of the input.
        error: The last line that it wrote to stderr, or the traceback's.
        has_traceback: Whether it wrote a traceback.
    """

    name: str
    code: int
    cpu_s: float
    peak_mb: float
    wall_s: float
    bytes: int
    error: str
    has_traceback: bool

    @property
    def is_good(self) -> bool:
        """Whether it stayed within the limits."""
        is_cheap = self.cpu_s <= MAX_CPU_S and self.peak_mb <= MAX_MB
        return self.code in (0, 3) and not self.has_traceback and is_cheap

    def __str__(self) -> str:
        """One line of the list."""
        return (
            f"{'ok ' if self.is_good else 'BAD'} {self.name:28} exit {self.code:3} "
            f"{self.cpu_s:6.1f} s CPU {self.wall_s:6.1f} s {self.peak_mb:7.0f} MB  "
            f"{self.bytes / 1e6:7.2f} MB file  {self.error[:150]}"
        )


def attempt(attack: Attack, seed: int, keep: Path | None = None) -> Outcome:
    """Make the input and run the command on it."""
    with tempfile.TemporaryDirectory(dir=keep) as name:
        path = Path(name) / attack.file_name
        attack.make(path, random.Random(seed))
        if keep is not None:
            shutil.copy(path, keep / f"{attack.name}--{attack.file_name}")
        command = [sys.executable, "-m", "torch_tb_profiler", "report", str(path)]
        command += ["--view", "all", "--format", "json", "--no-cache"]
        started_s = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (Path(name) / "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment(),
                start_new_session=True,
            )
            peak = Peak(process.pid)
            threading.Thread(target=peak.watch, daemon=True).start()
            try:
                while process.poll() is None:
                    is_late = time.perf_counter() - started_s > GIVE_UP_S
                    if is_late or peak.rss_bytes > GIVE_UP_BYTES:
                        break
                    time.sleep(0.05)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                peak.stop.set()
            errors.seek(0)
            text = errors.read().decode(errors="replace")
        wall_s = time.perf_counter() - started_s
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        return Outcome(
            attack.name,
            process.returncode,
            cpu_s,
            peak.rss_bytes / 1e6,
            wall_s,
            path.stat().st_size,
            lines[-1],
            "Traceback (most recent call last)" in text,
        )


def costs(outcomes: Sequence[Outcome]) -> list[Figure]:
    """What the commands cost at most, against the limits."""
    failed = sum(not each.is_good for each in outcomes)
    return [
        Figure("commands beyond the limits, or with a traceback", failed, "", 0),
        Figure("most CPU time", max(each.cpu_s for each in outcomes), "s", MAX_CPU_S),
        Figure("most memory", max(each.peak_mb for each in outcomes), "MB", MAX_MB),
    ]


def main() -> int:
    """Run the attacks that are asked for, and tell the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="beginnings of names; all if there are none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the inputs in this folder")
    parser.add_argument("--list", action="store_true", help="only list the names")
    add_options(parser)
    given = parser.parse_args()
    chosen = [
        each
        for each in all_attacks()
        if not given.names or any(each.name.startswith(name) for name in given.names)
    ]
    if given.list:
        print("\n".join(each.name for each in chosen))
        return 0
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for each in chosen:
        outcomes.append(attempt(each, given.seed, given.keep))
        print(outcomes[-1], flush=True)
    figures = [
        Figure("inputs", len(outcomes), ""),
        Figure("commands that ended with 0", sum(each.code == 0 for each in outcomes), ""),
        Figure("commands that ended with 3", sum(each.code == 3 for each in outcomes), ""),
        *costs(outcomes),
    ]
    tell("attacks", f"seed {given.seed}", figures, given, SAFETY)
    return 0 if all(each.is_good for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
