"""How long a worker computed and communicated in each step, and both at once."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import intersect, total_within
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
