"""Reads the number of running threads over time, from the context switches of the scheduler."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import SlicePart, build_table, empty_slices
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

SWITCHES = "SCHED_EVENTS"

WINDOWS = 2000
"""Number of windows over the time of all switches."""

MAX_SPAN_NS = 2**62
"""Switches over a longer time (146 years) are damaged data."""

METRIC = "Running threads"


def read_scheduling(export: Export) -> SlicePart:
    """Read the mean number of running threads of the recorded processes in each of
    :data:`WINDOWS`."""
    rows = TimedRows(export.database, SWITCHES, export.quality)
    columns = rows.columns("globalTid", "isSchedIn")
    if not len(rows):
        return SlicePart(empty_slices())
    starts, ends = running_times(rows.start_ns, columns["globalTid"], columns["isSchedIn"] == 1)
    first, last = int(rows.start_ns.min()), int(rows.start_ns.max())
    if not 0 < last - first < MAX_SPAN_NS or not len(starts):
        return SlicePart(empty_slices())
    cuts = {first + (last - first) * cut // WINDOWS for cut in range(WINDOWS + 1)}
    bounds = np.array(sorted(cuts), np.int64)
    mean = mean_running(starts, ends, bounds)
    size = len(mean)
    codes = export.names.codes(("host", METRIC, ""))
    table = build_table(
        "samples",
        size,
        source_code=np.full(size, codes[0]),
        metric_code=np.full(size, codes[1]),
        unit_code=np.full(size, codes[2]),
        time_ns=bounds[:-1],
        value=mean,
    )
    return SlicePart(empty_slices(), {"samples": table})


def running_times(time_ns: Int64, threads: Int64, is_in: Bools) -> tuple[Int64, Int64]:
    """Times at which threads started and stopped running. A thread that is scheduled in twice in a
    row counts from the second time."""
    _, thread = distinct(threads)
    order = np.lexsort((time_ns, thread))
    time_ns, thread, is_in = time_ns[order], thread[order], is_in[order]
    runs = np.flatnonzero(is_in[:-1] & ~is_in[1:] & (thread[:-1] == thread[1:]))
    return time_ns[runs], time_ns[runs + 1]


def mean_running(starts: Int64, ends: Int64, bounds: Int64) -> Float64:
    """Mean number of running threads in each window between two bounds."""
    run_ns = _time_since_start(starts, bounds) - _time_since_start(ends, bounds)
    mean: Float64 = np.diff(run_ns) / np.diff(bounds)
    return mean


def _time_since_start(times: Int64, bounds: Int64) -> Float64:
    """Per bound the sum of (bound - time) over all times before it."""
    times = np.sort(times)
    count = np.searchsorted(times, bounds)
    sums = np.concatenate((np.zeros(1), np.cumsum(times - bounds[0], dtype=np.float64)))
    since: Float64 = count * (bounds - bounds[0]).astype(np.float64) - sums[count]
    return since
