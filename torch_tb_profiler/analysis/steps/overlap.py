"""How long a worker computed and communicated in each step, and both at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, total_within
from torch_tb_profiler.analysis.algebra.many_intervals import moved_apart
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.communication.roles import computation
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def overlap_ns(trace: Trace, windows: StepWindows) -> Int64:
    """Per step (column) in ns: computation, both, communication, and the whole step."""
    busy, communicating = computation(trace), records(trace).intervals()
    start, end = windows.start_ns, windows.end_ns
    parts = (busy, intersect(busy, communicating), communicating)
    return np.stack([*(total_within(part, start, end) for part in parts), end - start])


def overlap_of_ranks_ns(traces: Sequence[Trace], windows: Sequence[StepWindows]) -> Int64:
    """:func:`overlap_ns` of many ranks, one after the other: their steps are the columns."""
    busy = [computation(trace) for trace in traces]
    communicating = [records(trace).intervals() for trace in traces]
    columns = [np.empty((4, 0), np.int64)]
    spans = [Intervals(each.start_ns, each.end_ns) for each in windows]
    for ranks in moved_apart(spans):
        own, others = ranks.moved(busy), ranks.moved(communicating)
        start, end = ranks.windows
        within = (total_within(part, start, end) for part in (own, intersect(own, others), others))
        columns.append(np.stack([*within, end - start]))
    return np.concatenate(columns, axis=1)
