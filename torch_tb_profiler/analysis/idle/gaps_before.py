"""How long a device was idle directly before each piece of its work.

Definition: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def gaps_before(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the time in ns from the end of all earlier work of its
    device to its start: 0 where some ran, of all but the first of what starts together, and before
    the first work of a device. So each idle moment of a device counts once."""
    work = trace.device_work
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    gaps = np.zeros(len(start), np.int64)
    for number in np.unique(device).tolist():
        rows = np.flatnonzero(device == number)
        rows = rows[np.argsort(start[rows], kind="stable")]
        reach = np.maximum.accumulate(end[rows])
        gaps[rows[1:]] = np.maximum(start[rows[1:]] - reach[:-1], 0)
    return gaps
