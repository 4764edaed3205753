"""Where the time of reading a trace goes: CPU seconds by stage, on one core.

The stages are told apart by wrapping, from here, the functions they go through: the product holds
no clocks. What remains between the first byte and the columns is reading the file, unpacking it and
finding where it can be cut.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_source, source_of
from torch_tb_profiler.importers.kineto import reader
from torch_tb_profiler.importers.kineto.merge import EventBatchMerger
from torch_tb_profiler.loading.processes.memory_release import retain_buffers
from torch_tb_profiler.reports import json as _reports  # noqa: F401 (what a report loads)
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.views.registry import all_views

STAGES = ("start-up", "read", "decode", "columns", "merge", "build", "views")
VIEWS = ("overview", "operators", "kernels")


class Clock:
    """CPU seconds by stage."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.seconds["start-up"] = time.process_time()

    def measuring(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time added to a stage."""

        @wraps(function)
        def measured(*args: Any, **options: Any) -> Any:
            started_s = time.process_time()
            try:
                return function(*args, **options)
            finally:
                self.seconds[stage] += time.process_time() - started_s

        return measured


def stages_of(path: Path) -> dict[str, float]:
    """Seconds by stage, and ``bytes to columns``: all from the file to its event columns."""
    clock = Clock()
    for owner, name, stage in (
        (reader, "decode_arrays", "decode"),
        (reader, "decode_piece", "decode"),
        (reader, "build_batch", "columns"),
        (reader, "assemble", "merge"),
        (EventBatchMerger, "add", "merge"),
    ):
        setattr(owner, name, clock.measuring(stage, getattr(owner, name)))
    location = open_location(str(path))
    started_s = time.process_time()
    columns = import_source(source_of(location, file_state(location)))
    to_columns_s = time.process_time() - started_s
    parts = ("decode", "columns", "merge")
    clock.seconds["read"] = to_columns_s - sum(clock.seconds[part] for part in parts)
    trace = clock.measuring("build", build_trace)(columns)
    del columns
    views = all_views()
    for name in VIEWS:
        if views[name].missing(trace) is None:
            clock.measuring("views", views[name].function)(trace, Selection())
    return {**clock.seconds, "bytes to columns": to_columns_s}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path)
    retain_buffers()  # as the command line does
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.dumps(stages_of(parser.parse_args().path)))


if __name__ == "__main__":
    main()
