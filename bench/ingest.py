"""How fast a trace becomes three views, and how much memory that takes.

    python bench/ingest.py                 ten times the sample, about 350 MB
    python bench/ingest.py --factor 2      a quick look

Everything runs in processes of its own, start-up included. The file is in the page cache when a
run begins; "cold" means that nothing of it was parsed before.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

from figures import Figure, add_options, machine, tell
from make_trace import OUT, trace_of
from processes import Measured, measured

INSIDE = Path(__file__).resolve().parent / "inside.py"
EVENT_MARK = b'"ph": "'
CACHE = OUT / "cache"
VIEWS = "overview,operators,kernels"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--factor", type=int, default=10, help="times the sample (default: 10)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default: 3)")
    parser.add_argument("--draws", type=int, default=300, help="random questions (default: 300)")
    add_options(parser)
    arguments = parser.parse_args()
    path = trace_of(arguments.factor)
    size_mb = path.stat().st_size / 1e6
    with path.open("rb") as file:
        events = sum(line.count(EVENT_MARK) for line in file)
    subject = f"{size_mb:.0f} MB, {events:,} events"
    print(f"{machine()}; {subject}", flush=True)
    figures = [
        *cold(path, size_mb, events, arguments.rounds),
        *columns(path, size_mb, events, arguments.rounds),
        *cached(path, arguments.rounds),
        *answers(path, arguments.draws),
    ]
    tell("ingest", subject, figures, arguments)


def cold(path: Path, size_mb: float, events: int, rounds: int) -> list[Figure]:
    runs = [report(path, "--no-cache") for _ in range(rounds)]
    wall_s = statistics.median(run.wall_s for run in runs)
    return [
        Figure("cold: file to three views, wall", wall_s, "s", 1.8),
        Figure("cold: best of the runs", min(run.wall_s for run in runs), "s"),
        Figure("cold: CPU time", statistics.median(run.cpu_s for run in runs), "s"),
        Figure("cold: peak memory, children included", max(r.peak_rss_mb for r in runs), "MB", 500),
        Figure("cold: speed", size_mb / wall_s, "MB/s"),
        Figure("cold: speed", events / wall_s, "events/s"),
    ]


def columns(path: Path, size_mb: float, events: int, rounds: int) -> list[Figure]:
    command = [sys.executable, str(INSIDE), "columns", str(path)]
    seconds = [json.loads(measured(command).output)["seconds"] for _ in range(rounds)]
    best_s = min(seconds)
    return [
        Figure("one core: bytes to columns", size_mb / best_s, "MB/s", 130, larger_is_better=True),
        Figure("one core: bytes to columns", events / best_s, "events/s"),
    ]


def cached(path: Path, rounds: int) -> list[Figure]:
    shutil.rmtree(CACHE, ignore_errors=True)
    first = report(path, "--cache-dir", str(CACHE))
    runs = [report(path, "--cache-dir", str(CACHE)) for _ in range(rounds)]
    if any(run.output != first.output for run in runs):
        raise RuntimeError("the cached trace gives other numbers than the parsed one")
    stored_mb = sum(file.stat().st_size for file in CACHE.rglob("*") if file.is_file()) / 1e6
    return [
        Figure("first opening that fills the cache, wall", first.wall_s, "s"),
        Figure("cached opening to three views, wall",
               statistics.median(run.wall_s for run in runs), "s", 0.8),
        Figure("cached opening, peak memory", max(run.peak_rss_mb for run in runs), "MB"),
        Figure("size of the cache entry", stored_mb, "MB"),
    ]  # fmt: skip


def answers(path: Path, draws: int) -> list[Figure]:
    command = [sys.executable, str(INSIDE), "views", str(path), "--cache-dir", str(CACHE)]
    times = json.loads(measured([*command, "--draws", str(draws)]).output)
    return [
        Figure("any view, any steps, after loading: p50", times["p50_ms"], "ms"),
        Figure("any view, any steps, after loading: p95", times["p95_ms"], "ms", 100),
        Figure("any view, any steps, after loading: max", times["max_ms"], "ms"),
    ]


def report(path: Path, *options: str, views: str = VIEWS) -> Measured:
    """One run of the command line."""
    command = [sys.executable, "-m", "torch_tb_profiler", "report", str(path), *options]
    return measured([*command, "--view", views, "--format", "json"])


if __name__ == "__main__":
    main()
