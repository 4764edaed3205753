"""How many of the recorded threads ran at a time: from the switches of the machine's scheduler."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import Part, no_slices, rows_of
from torch_tb_profiler.importers.nsys.rows import TimedRows
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

SWITCHES = "SCHED_EVENTS"

WINDOWS = 2000
"""The time of the switches is cut into so many windows."""

LONGEST_NS = 2**62
"""Switches further apart than this (146 years) are damage."""

METRIC = "Running threads"


def read_scheduling(export: Export) -> Part:
    """Running threads of the recorded processes, as the mean over each of :data:`WINDOWS`."""
    rows = TimedRows(export.database, SWITCHES, export.quality)
    columns = rows.columns("globalTid", "isSchedIn")
    if not len(rows):
        return Part(no_slices())
    starts, ends = running_times(rows.start_ns, columns["globalTid"], columns["isSchedIn"] == 1)
    first, last = int(rows.start_ns.min()), int(rows.start_ns.max())
    if not 0 < last - first < LONGEST_NS or not len(starts):
        return Part(no_slices())
    cuts = {first + (last - first) * cut // WINDOWS for cut in range(WINDOWS + 1)}
    bounds = np.array(sorted(cuts), np.int64)
    mean = mean_running(starts, ends, bounds)
    size = len(mean)
    codes = export.names.codes(("host", METRIC, ""))
    table = rows_of(
        "samples",
        size,
        source_code=np.full(size, codes[0]),
        metric_code=np.full(size, codes[1]),
        unit_code=np.full(size, codes[2]),
        time_ns=bounds[:-1],
        value=mean,
    )
    return Part(no_slices(), {"samples": table})


def running_times(time_ns: Int64, threads: Int64, is_in: Bools) -> tuple[Int64, Int64]:
    """When threads began to run and when they stopped. A thread that was put on a core without
    being taken off before counts from the last time."""
    _, thread = distinct(threads)
    order = np.lexsort((time_ns, thread))
    time_ns, thread, is_in = time_ns[order], thread[order], is_in[order]
    runs = np.flatnonzero(is_in[:-1] & ~is_in[1:] & (thread[:-1] == thread[1:]))
    return time_ns[runs], time_ns[runs + 1]


def mean_running(starts: Int64, ends: Int64, bounds: Int64) -> Float64:
    """Per window between two bounds how many of the times lie in it on average."""
    run_ns = _since(starts, bounds) - _since(ends, bounds)
    mean: Float64 = np.diff(run_ns) / np.diff(bounds)
    return mean


def _since(times: Int64, bounds: Int64) -> Float64:
    """Per bound the sum over the times before it of how long before it they lie."""
    times = np.sort(times)
    count = np.searchsorted(times, bounds)
    sums = np.concatenate((np.zeros(1), np.cumsum(times - bounds[0], dtype=np.float64)))
    since: Float64 = count * (bounds - bounds[0]).astype(np.float64) - sums[count]
    return since
