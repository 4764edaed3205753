"""The time before the first device work of a recording, where it says nothing about later steps.

A profiler begins with an empty queue: until the first launch the devices have nothing to do, even
of a program whose host is far ahead afterwards (``docs/metrics.md#idle-devices``).
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    intersect,
    total,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR, Category.DATALOADER, Category.OPTIMIZER)
_MOSTLY = 0.5
_AHEAD = 0.1
"""A host for which devices wait at most this part of the time after their first work is ahead."""


@per_trace
def lead_in(trace: Trace) -> Intervals:
    """From the start of the recording to its first device work, if most of what the host runs then
    (operators, else ranges, by time) is called again later, and the host is ahead of the devices by
    then. Empty where it is not, and without device work."""
    if trace.device_work.is_empty():
        return empty()
    first_ns = int(trace.device_work["start_ns"].to_numpy().min())
    start = trace.slices["start_ns"].to_numpy()
    category = trace.slices["category"].to_numpy()
    called = np.isin(category, _OPERATORS)
    if not (called & (start < first_ns)).any():
        called = category == Category.ANNOTATION
    before = np.flatnonzero(called & (start < first_ns))
    names = trace.slices["name_code"].to_numpy()
    later = distinct_values(names[called & (start >= first_ns)])
    end = np.minimum(start + trace.slices["dur_ns"].to_numpy(), first_ns)
    again = before[np.isin(names[before], later)]
    if total(union(start[again], end[again])) <= _MOSTLY * total(union(start[before], end[before])):
        return empty()
    after = Intervals(np.array([first_ns]), np.array([trace.meta.end_ns]))
    causes = idle_causes(trace).intervals
    late = union_all(*(causes[cause] for cause in (IdleCause.HOST, IdleCause.PYTHON)))
    if total(intersect(late, after)) > _AHEAD * total(after):
        return empty()
    return Intervals(np.array([trace.meta.start_ns]), np.array([first_ns]))
