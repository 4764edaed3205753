"""How fast a recording of each format becomes an open trace, and how much memory that takes.

    python bench/formats.py                    every format, Nsight Systems with 5 million kernels
    python bench/formats.py --kernels 500000   a quick look
    python bench/formats.py --formats kineto,nsys_graphs

A run is a process of its own with the processes it starts; nothing is kept from run to run. Events
are the slices of the trace; seconds are those from asking for the trace to its tables, without the
start of the interpreter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, add_options, machine, tell
from make_formats import ascend, paddle, pftrace
from make_nsys import nsys_database
from processes import measured
from shapes import shape_of

INSIDE = Path(__file__).resolve().parent / "inside.py"
ALL_KERNELS = 5_000_000


@dataclass(frozen=True)
class Subject:
    """A recording of a format.

    Attributes:
        make: Makes it of the number of kernels and gives its path; None where it cannot be made.
        events_per_s: At least so many.
        mb_per_s: At least so many.
    """

    make: Callable[[int], Path | None]
    events_per_s: float | None = None
    mb_per_s: float | None = None


SUBJECTS: dict[str, Subject] = {
    "kineto": Subject(lambda _: shape_of("integers", 10)),
    "nsys_launches": Subject(lambda kernels: nsys_database(kernels, graphs=False), 1e6),
    "nsys_graphs": Subject(lambda kernels: nsys_database(kernels, graphs=True), 1e6),
    "pftrace": Subject(lambda kernels: pftrace(max(1, kernels // 5000)), mb_per_s=60),
    "paddle": Subject(lambda kernels: paddle(max(1, kernels // 25))),
    "ascend": Subject(lambda kernels: ascend(max(2, kernels // 25000))),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--kernels", type=int, default=ALL_KERNELS, help="of Nsight Systems (default: 5 million)"
    )
    parser.add_argument("--formats", default=",".join(SUBJECTS), help="some, comma separated")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
    add_options(parser)
    arguments = parser.parse_args()
    print(machine(), flush=True)
    figures: list[Figure] = []
    slowest_us = None
    for name in arguments.formats.split(","):
        path = SUBJECTS[name].make(arguments.kernels)
        if path is None:
            print(f"{name}: its recording is not in the corpus", flush=True)
            continue
        shown, event_us = measure(name, path, arguments.rounds, slowest_us)
        slowest_us = event_us if name == "kineto" else slowest_us
        figures += shown
        print(f"{name}: done", flush=True)
    tell("recordings", f"{arguments.kernels:,} kernels", figures, arguments)


def measure(
    name: str, path: Path, rounds: int, slowest_us: float | None
) -> tuple[list[Figure], float]:
    """The figures of a recording, and the CPU time of an event."""
    subject = SUBJECTS[name]
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    size_mb = sum(file.stat().st_size for file in files) / 1e6
    runs = [measured([sys.executable, str(INSIDE), "open", str(path)]) for _ in range(rounds)]
    told = [json.loads(run.output) for run in runs]
    wall_s = statistics.median(each["seconds"] for each in told)
    cpu_us = 1e6 * statistics.median(run.cpu_s for run in runs) / told[0]["slices"]
    peak_mb = max(run.peak_rss_mb for run in runs)
    is_whole = name.startswith("nsys") and told[0]["slices"] > ALL_KERNELS
    return [
        Figure(f"{name}: {told[0]['slices']:,.0f} events, {size_mb:,.0f} MB: wall", wall_s, "s",
               20 if is_whole else None),
        Figure(f"{name}: events", told[0]["slices"] / wall_s, "per s", subject.events_per_s, True),
        Figure(f"{name}: bytes", size_mb / wall_s, "MB/s", subject.mb_per_s, True),
        Figure(f"{name}: CPU time of an event", cpu_us, "µs", slowest_us),
        Figure(f"{name}: peak memory, all processes", peak_mb, "MB", 1200 if is_whole else None),
    ], cpu_us  # fmt: skip


if __name__ == "__main__":
    main()
