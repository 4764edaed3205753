"""Per GPU what all its streams did together: computation, communication, both, nothing.

Computation is all device work that is not communication: kernels, copies and sets. Communication
as in ``analysis.kernel_kinds``. Idle is what is neither, from the first slice of the trace to the
last (MindSpore Insight's overlap analysis calls it "free").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.intervals import Intervals, complement, intersect, union, union_all
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LANE_TITLES = ("Computation", "Communication", "Overlap", "Idle")


@dataclass(frozen=True, slots=True, eq=False)
class DeviceActivity:
    """When one device did what; times of the trace."""

    computation: Intervals
    communication: Intervals
    overlap: Intervals
    idle: Intervals

    @property
    def lanes(self) -> tuple[Intervals, Intervals, Intervals, Intervals]:
        """In the order of :data:`LANE_TITLES`."""
        return self.computation, self.communication, self.overlap, self.idle


@per_trace
def device_activity(trace: Trace) -> dict[int, DeviceActivity]:
    """What every device with work did, by device id; made once."""
    work = trace.device_work
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    moving = kernel_kinds(trace).is_communication
    times = {}
    for number in np.unique(device[device >= 0]).tolist():
        here = device == number
        computation = union(start[here & ~moving], end[here & ~moving])
        communication = union(start[here & moving], end[here & moving])
        either = union_all(computation, communication)
        times[number] = DeviceActivity(
            computation,
            communication,
            intersect(computation, communication),
            complement(either, trace.meta.start_ns, trace.meta.end_ns),
        )
    return times
