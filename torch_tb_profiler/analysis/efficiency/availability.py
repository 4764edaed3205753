"""Whether a recording tells of any work at all."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.efficiency.calls import holding_calls
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def has_work(trace: Trace) -> bool:
    """Whether FLOPs or bytes of any call are known; made once."""
    calls = holding_calls(trace)
    return not (np.isnan(calls.flops).all() and np.isnan(calls.bytes).all())
