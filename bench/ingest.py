"""How fast a trace becomes three views, and how much memory that takes.

    python bench/ingest.py                    ten times the sample, about 350 MB
    python bench/ingest.py --shape stacks     another shape of trace (bench/shapes.py --list)
    python bench/ingest.py --shapes           every shape: its speed, and where the time goes
    python bench/ingest.py --factor 2         a quick look

Everything runs in processes of its own, start-up included. The file is in the page cache when a
run begins; "cold" means that nothing of it was parsed before.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import statistics
import sys
from pathlib import Path

from figures import DOCUMENT, Figure, add_options, machine, tell, with_table
from make_trace import OUT
from processes import Measured, measured
from shapes import SHAPES, shape_of
from stages import STAGES

STAGES_OF = Path(__file__).resolve().parent / "stages.py"
INSIDE = Path(__file__).resolve().parent / "inside.py"
EVENT_MARK = re.compile(rb'"ph"\s*:\s*"')
CACHE = OUT / "cache"
SMALL = Path(__file__).resolve().parent.parent / "samples" / "h100_bert_small"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--factor", type=int, default=10, help="times 35 MB (default: 10)")
    parser.add_argument("--shape", choices=SHAPES, default="integers", help="(default: integers)")
    parser.add_argument("--shapes", action="store_true", help="measure every shape")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind (default: 3)")
    parser.add_argument("--draws", type=int, default=300, help="random questions (default: 300)")
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.shapes:
        every_shape(arguments)
        return
    path = shape_of(arguments.shape, arguments.factor)
    views = SHAPES[arguments.shape].views
    text = text_of(path)
    size_mb = len(text) / 1e6
    events = sum(1 for _ in EVENT_MARK.finditer(text))
    del text
    subject = f"{arguments.shape}, {size_mb:.0f} MB, {events:,} events"
    print(f"{machine()}; {subject}", flush=True)
    figures = [
        *cold(path, views, size_mb, events, arguments.rounds),
        *columns(path, size_mb, events, arguments.rounds),
        *cached(path, views, arguments.rounds),
        *starts(arguments.rounds),
        *answers(path, arguments.draws),
    ]
    tell("ingest", subject, figures, arguments)


def text_of(path: Path) -> bytes:
    """The text of a trace, unpacked."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def every_shape(arguments: argparse.Namespace) -> None:
    """Of each shape the speed of one core, the whole way to three views, and CPU time by stage."""
    figures: list[Figure] = []
    rows = [("shape", *(f"{stage}, ms" for stage in STAGES))]
    for name in SHAPES:
        path = shape_of(name, arguments.factor)
        size_mb = len(text_of(path)) / 1e6
        command = [sys.executable, str(STAGES_OF), str(path)]
        runs = [json.loads(measured(command).output) for _ in range(arguments.rounds)]
        speed = size_mb / min(run["bytes to columns"] for run in runs)
        whole = [
            report(path, "--no-cache", views=SHAPES[name].views) for _ in range(arguments.rounds)
        ]
        wall_s = statistics.median(run.wall_s for run in whole)
        peak_mb = max(run.peak_rss_mb for run in whole)
        figures += [
            Figure(f"{name}: one core, bytes to columns", speed, "MB/s", 150, True),
            Figure(f"{name}: file to three views, wall", wall_s, "s", 1.3),
            Figure(f"{name}: peak memory, children included", peak_mb, "MB", 350),
        ]
        rows.append((name, *(f"{1000 * min(run[s] for run in runs):,.0f}" for s in STAGES)))
        print(*rows[-1], flush=True)
    subject = f"{35 * arguments.factor} MB each"
    tell("shapes", subject, figures, arguments)
    if arguments.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        subject = f"CPU time on one core, {subject}"
        DOCUMENT.write_text(with_table(text, "stages", subject, rows), encoding="utf-8")


def cold(path: Path, views: str, size_mb: float, events: int, rounds: int) -> list[Figure]:
    runs = [report(path, "--no-cache", views=views) for _ in range(rounds)]
    wall_s = statistics.median(run.wall_s for run in runs)
    return [
        Figure("cold: file to three views, wall", wall_s, "s", 1.3),
        Figure("cold: best of the runs", min(run.wall_s for run in runs), "s"),
        Figure("cold: CPU time", statistics.median(run.cpu_s for run in runs), "s"),
        Figure("cold: peak memory, children included", max(r.peak_rss_mb for r in runs), "MB", 350),
        Figure("cold: speed", size_mb / wall_s, "MB/s"),
        Figure("cold: speed", events / wall_s, "events/s"),
    ]


def columns(path: Path, size_mb: float, events: int, rounds: int) -> list[Figure]:
    command = [sys.executable, str(INSIDE), "columns", str(path)]
    seconds = [json.loads(measured(command).output)["seconds"] for _ in range(rounds)]
    best_s = min(seconds)
    return [
        Figure("one core: bytes to columns", size_mb / best_s, "MB/s", 150, larger_is_better=True),
        Figure("one core: bytes to columns", events / best_s, "events/s"),
    ]


def cached(path: Path, views: str, rounds: int) -> list[Figure]:
    shutil.rmtree(CACHE, ignore_errors=True)
    first = report(path, "--cache-dir", str(CACHE), views=views)
    runs = [report(path, "--cache-dir", str(CACHE), views=views) for _ in range(rounds)]
    if any(run.output != first.output for run in runs):
        raise RuntimeError("the cached trace gives other numbers than the parsed one")
    # What is answered about the whole trace is stored beside it; about a part it is computed.
    part = ("--cache-dir", str(CACHE), "--start-us", "0")
    parts = [report(path, *part, views=views) for _ in range(rounds)]
    stored_mb = sum(file.stat().st_size for file in CACHE.rglob("*") if file.is_file()) / 1e6
    return [
        Figure("first opening that fills the cache, wall", first.wall_s, "s"),
        Figure("cached opening to three views, wall",
               statistics.median(run.wall_s for run in runs), "s", 0.5),
        Figure("cached opening, peak memory", max(run.peak_rss_mb for run in runs), "MB"),
        Figure("cached opening to three views of a part, wall",
               statistics.median(run.wall_s for run in parts), "s"),
        Figure("cached opening to three views of a part, peak memory",
               max(run.peak_rss_mb for run in parts), "MB"),
        Figure("size of the cache entry", stored_mb, "MB"),
    ]  # fmt: skip


def starts(rounds: int) -> list[Figure]:
    """Small reports against what importing their libraries alone takes."""
    libraries = [sys.executable, "-c", "import numpy, polars, msgspec"]
    kinds = {"from the cache": ("--cache-dir", str(CACHE)), "without a cache": ("--no-cache",)}
    for options in kinds.values():
        report(SMALL, *options)  # the cache is filled, what Python keeps of modules is there
    bare_s = min(measured(libraries).cpu_s for _ in range(3 * rounds))
    reports = {
        kind: min(report(SMALL, *options).cpu_s for _ in range(3 * rounds))
        for kind, options in kinds.items()
    }
    return [
        Figure("start: importing numpy, polars and msgspec, CPU", 1000 * bare_s, "ms"),
        *(
            Figure(f"start: small report {kind}, CPU against that", seconds / bare_s, "times", 1.6)
            for kind, seconds in reports.items()
        ),
    ]


def answers(path: Path, draws: int) -> list[Figure]:
    command = [sys.executable, str(INSIDE), "views", str(path), "--cache-dir", str(CACHE)]
    times = json.loads(measured([*command, "--draws", str(draws)]).output)
    return [
        Figure("any view, any steps, after loading: p50", times["p50_ms"], "ms"),
        Figure("any view, any steps, after loading: p95", times["p95_ms"], "ms", 50),
        Figure("any view, any steps, after loading: max", times["max_ms"], "ms"),
    ]


def report(path: Path, *options: str, views: str = SHAPES["integers"].views) -> Measured:
    """One run of the command line."""
    command = [sys.executable, "-m", "torch_tb_profiler", "report", str(path), *options]
    return measured([*command, "--view", views, "--format", "json"])


if __name__ == "__main__":
    main()
