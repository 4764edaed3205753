"""How much of the steps a worker communicated, computed, and did both.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.communication.calls import host_calls
from torch_tb_profiler.analysis.communication.roles import Role, role_intervals
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class CommunicationTimes(Struct, frozen=True):
    """Times of a selection in ns; what overlaps counts once in each.

    Attributes:
        step_ns: Of its steps, to the end of the device work that they launched.
        communication_ns: In which it communicated: calls of collectives on the host and kernels.
        computation_ns: In which another kernel ran.
        overlap_ns: In which both held.
    """

    step_ns: int
    communication_ns: int
    computation_ns: int
    overlap_ns: int


@per_trace
def _when(trace: Trace) -> tuple[Intervals, Intervals, Intervals]:
    roles, calls = role_intervals(trace), host_calls(trace)
    start = trace.slices["start_ns"].to_numpy()[calls]
    on_host = union(start, start + trace.slices["dur_ns"].to_numpy()[calls])
    communication = union_all(roles[Role.COMMUNICATION], on_host)
    computation = roles[Role.KERNEL]
    return communication, computation, intersect(communication, computation)


def communication_times(trace: Trace, selection: Selection) -> CommunicationTimes | None:
    """The times of a selection; None where it holds no communication.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = step_windows(trace, selection)
    steps = int((windows.end_ns - windows.start_ns).sum())
    communication, computation, overlap = (
        int(np.sum(total_within(when, windows.start_ns, windows.end_ns))) for when in _when(trace)
    )
    if not communication:
        return None
    return CommunicationTimes(steps, communication, computation, overlap)
