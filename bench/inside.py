"""What is measured inside a process of its own; prints one JSON object."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import time
from pathlib import Path

from torch_tb_profiler.api import OpenedTrace, open_trace
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.processes.memory_release import retain_buffers
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.storage.locations import open_location, read_chunks
from torch_tb_profiler.views.registry import all_views

SEED = 17


def single_core_columns(path: Path) -> dict[str, float]:
    """Seconds of one core from bytes of the file to event columns."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started_s = time.perf_counter()
    columns = import_trace(read_chunks(open_location(str(path))), name=str(path))
    seconds = time.perf_counter() - started_s
    slices = len(columns.tables["slices"]["start_ns"])
    return {"seconds": seconds, "slices": slices}


def opening(path: Path) -> dict[str, float]:
    """Seconds from asking for a trace until it is open, by all cores, and its slices."""
    retain_buffers()  # as the command line does
    started_s = time.perf_counter()
    trace = open_trace(path, cache=False).trace
    return {"seconds": time.perf_counter() - started_s, "slices": trace.slices.height}


def parsing_of_folder(folder: Path, workers: int) -> dict[str, float]:
    """Seconds from asking for every trace of a folder until all are open, workers being up."""
    catalog = Catalog(
        [TraceRoot(str(folder))],
        cache=None,
        store=TraceStore(cache=None, parser=Parser(workers)),
    )
    (*files, first, second) = catalog.contents().files()
    for warm in (first, second):
        catalog.store.request(warm)
    catalog.store.wait((first, second), None)
    started_s = time.perf_counter()
    for file in files:
        catalog.store.request(file)
    catalog.store.wait(files, None)
    return {"seconds": time.perf_counter() - started_s, "files": len(files)}


def view_times(path: Path, cache_dir: Path, draws: int) -> dict[str, float]:
    """Milliseconds per answer (JSON included) of random views, groupings and step selections."""
    trace = open_trace(path, cache_dir=cache_dir)
    choice = random.Random(SEED)
    steps = trace.trace.steps["name"].to_list()
    ranges = [None, *(f"{a}:{b}" for a, b in itertools.combinations_with_replacement(steps, 2))]
    questions = [
        (spec.name, group_by)
        for spec in all_views().values()
        if spec.scope == "trace" and spec.missing(trace.trace) is None
        for group_by in (spec.group_bys or (None,))
    ]
    times_ms = [
        _answer_ms(trace, *choice.choice(questions), choice.choice(ranges)) for _ in range(draws)
    ]
    ordered = sorted(times_ms)
    return {
        "draws": draws,
        "p50_ms": statistics.median(ordered),
        "p95_ms": ordered[int(0.95 * (draws - 1))],
        "max_ms": ordered[-1],
    }


def _answer_ms(trace: OpenedTrace, name: str, group_by: str | None, steps: str | None) -> float:
    started_s = time.perf_counter()
    trace.view(name, group_by=group_by, steps=steps).to_json()
    return 1000 * (time.perf_counter() - started_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("columns", "open", "folder", "views"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--cache-dir", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--draws", type=int, default=300)
    arguments = parser.parse_args()
    if arguments.what == "columns":
        answer = single_core_columns(arguments.path)
    elif arguments.what == "open":
        answer = opening(arguments.path)
    elif arguments.what == "folder":
        answer = parsing_of_folder(arguments.path, arguments.workers)
    else:
        answer = view_times(arguments.path, arguments.cache_dir, arguments.draws)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
