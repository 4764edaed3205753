"""When Python collected garbage (``docs/views-idle.md#causes``)."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.knowledge.host_marks import mark_kind
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_MARK_KINDS = ("collection", "collect")


@per_trace
def garbage_collection(trace: Trace) -> Intervals:
    """When any thread collected: the profiler's rows (``record_python_gc_info``) and calls of
    ``gc.collect``."""
    names = trace.slices["name_code"].to_numpy()
    collects = codes.names_match(trace, names, lambda name: mark_kind(name) in _MARK_KINDS)
    rows = np.flatnonzero(collects)
    rows = rows[~np.isin(trace.slices["category"].to_numpy()[rows], DEVICE_CATEGORIES)]
    start = trace.slices["start_ns"].to_numpy()[rows]
    return union(start, start + trace.slices["dur_ns"].to_numpy()[rows])
