"""Device time of each launch of a graph: its span, busy time and gaps.

Definitions: ``docs/views-compiled.md#graph-launches``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.grouped_intervals import (
    running_maximum,
    span_lengths,
    union_by_group,
    union_lengths,
)
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class GraphTimes(Struct, frozen=True, eq=False):
    """Times in ns.

    Attributes:
        start_ns: Per launch the start of its first work.
        span_ns: Per launch the time from there to the end of its last work.
        busy_ns: Per launch the time in which any of its work ran.
        gaps: Per launch the number of gaps in the span.
        longest_gap_ns: Per launch the longest of them.
        gap_before_ns: Per row of ``GraphLaunches.row`` the time since the last end of earlier work
            of its launch; 0 where that is still running, -1 for the first.
    """

    start_ns: Int64
    span_ns: Int64
    busy_ns: Int64
    gaps: Int64
    longest_gap_ns: Int64
    gap_before_ns: Int64


@per_trace
def graph_times(trace: Trace) -> GraphTimes:
    """The times of all launches of graphs."""
    launches = graph_launches(trace)
    start = trace.device_work["start_ns"].to_numpy()[launches.row]
    end = start + np.maximum(trace.device_work["dur_ns"].to_numpy()[launches.row], 0)
    launch, count = launches.launch, launches.count
    group, begins, ends = union_by_group(launch, start, end)
    is_next = group[1:] == group[:-1]
    after_gap = group[1:][is_next]
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, after_gap, (begins[1:] - ends[:-1])[is_next])
    return GraphTimes(
        start_ns=start[launches.first[:-1]],
        span_ns=span_lengths(launch, start, end, count),
        busy_ns=union_lengths(launch, start, end, count),
        gaps=np.bincount(after_gap, minlength=count),
        longest_gap_ns=longest,
        gap_before_ns=_gaps_before(launch, start, end),
    )


def _gaps_before(launch: Int64, start: Int64, end: Int64) -> Int64:
    """Rows are by launch and start."""
    before = np.full(len(start), -1)
    if len(start):
        reach = running_maximum(launch, end)
        is_next = launch[1:] == launch[:-1]
        before[1:] = np.where(is_next, np.maximum(start[1:] - reach[:-1], 0), -1)
    return before
