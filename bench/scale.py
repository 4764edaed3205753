"""How parsing grows: a file of 1 GB, the same packed, opened again, and eight files at once.

    python bench/scale.py                  needs 1.5 GB of disk
    python bench/scale.py --factor 10      a smaller file

Every figure is of processes of their own, start-up included, with the files in the page cache.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from figures import Figure, add_options, machine, tell
from ingest import CACHE, INSIDE, report
from make_trace import OUT, trace_of
from processes import Measured, environment

FILES = 8
GIGABYTE = 29
"""Times the sample."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--factor", type=int, default=GIGABYTE, help="times the sample")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default: 3)")
    add_options(parser)
    arguments = parser.parse_args()
    path = trace_of(arguments.factor)
    subject = f"one file of {path.stat().st_size / 1e6:,.0f} MB, and {FILES} of 35 MB"
    print(f"{machine()}; {subject}", flush=True)
    is_goal_size = arguments.factor == GIGABYTE
    figures = [
        *one_large_file(path, arguments.rounds, is_goal_size),
        *several_files(arguments.rounds),
    ]
    tell("scale", subject, figures, arguments)


def one_large_file(path: Path, rounds: int, is_goal_size: bool) -> list[Figure]:
    """Cold, packed, and from the cache."""
    plain = [report(path, "--no-cache") for _ in range(rounds)]
    packed_path = packed(path)
    zipped = [report(packed_path, "--no-cache") for _ in range(rounds)]
    shutil.rmtree(CACHE, ignore_errors=True)
    first = report(path, "--cache-dir", str(CACHE))
    again = [report(path, "--cache-dir", str(CACHE)) for _ in range(rounds)]
    overview = [report(path, "--cache-dir", str(CACHE), views="overview") for _ in range(rounds)]
    if any(run.output != first.output for run in again):
        raise RuntimeError("the cached trace gives other numbers than the parsed one")
    return [
        Figure("cold: file to three views, wall", wall(plain), "s", 3.8 if is_goal_size else None),
        Figure("cold: CPU time", statistics.median(run.cpu_s for run in plain), "s"),
        Figure("cold: peak memory, children included", max(run.peak_rss_mb for run in plain),
               "MB", 650 if is_goal_size else None),
        Figure("packed: wall against plain", wall(zipped) / wall(plain), "times", 1.3),
        Figure("packed: peak memory, children included", max(r.peak_rss_mb for r in zipped), "MB"),
        Figure("cached: opening to the first view, wall", wall(overview), "s",
               1 if is_goal_size else None),
        Figure("cached: opening to three views, wall", wall(again), "s"),
    ]  # fmt: skip


def several_files(rounds: int) -> list[Figure]:
    """Eight files of the sample's size, with one core and with two."""
    folder = copies(FILES)
    one = [report(folder, "--no-cache", "--workers", "1") for _ in range(rounds)]
    two = [report(folder, "--no-cache", "--workers", "2") for _ in range(rounds)]
    # Two more: with them the workers are started before the clock is.
    folder = copies(FILES + 2)
    parse_one = statistics.median(parsing_s(folder, 1) for _ in range(rounds))
    parse_two = statistics.median(parsing_s(folder, 2) for _ in range(rounds))
    name = f"{FILES} files of 35 MB"
    return [
        Figure(f"{name}: parsing alone, one worker", parse_one, "s"),
        Figure(f"{name}: parsing alone, two workers", parse_two, "s"),
        Figure(f"{name}: parsing, two against one", parse_one / parse_two, "times", 1.7, True),
        Figure(f"{name}: report, one worker, wall", wall(one), "s"),
        Figure(f"{name}: report, two workers, wall", wall(two), "s"),
        Figure(f"{name}: report, two against one", wall(one) / wall(two), "times"),
        Figure(f"{name}: peak memory of both", max(run.peak_rss_mb for run in two), "MB"),
    ]


def copies(count: int) -> Path:
    """A folder with so many workers, each the sample."""
    folder = OUT / "several"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number in range(count):
        shutil.copy(trace_of(1), folder / f"worker{number}.{1_700_000_000_000}.pt.trace.json")
    return folder


def parsing_s(folder: Path, workers: int) -> float:
    """Seconds until the traces of a folder are open; nobody watches, as that takes a core, too."""
    command = [sys.executable, str(INSIDE), "folder", str(folder), "--workers", str(workers)]
    answer = subprocess.run(command, check=True, capture_output=True, env=environment())
    seconds: float = json.loads(answer.stdout)["seconds"]
    return seconds


def packed(path: Path) -> Path:
    """The same, gzipped as torch does it."""
    target = path.with_suffix(".json.gz")
    if not target.is_file():
        unfinished = target.with_suffix(".part")
        with path.open("rb") as plain, gzip.open(unfinished, "wb", 6) as zipped:
            shutil.copyfileobj(plain, zipped, 1 << 22)
        unfinished.rename(target)
    return target


def wall(runs: list[Measured]) -> float:
    """The median of several runs."""
    return statistics.median(run.wall_s for run in runs)


if __name__ == "__main__":
    main()
