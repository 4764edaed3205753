"""Combined activity of all streams per GPU: computation, communication, overlap, idle, copies.

Computation and communication are kernels, as everywhere
(``docs/metrics.md#computation-and-communication``); copies and sets are neither. Idle is what is
none of them, from the first slice of the trace to the last (MindSpore Insight's overlap analysis
calls it "free").
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    complement,
    intersect,
    union,
    union_all,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_LANE_TITLES = ("Computation", "Communication", "Overlap", "Idle", "Copies")


class DeviceActivity(Struct, frozen=True, eq=False):
    """When one device did what; times of the trace."""

    computation: Intervals
    communication: Intervals
    overlap: Intervals
    idle: Intervals
    copies: Intervals

    @property
    def lanes(self) -> dict[str, Intervals]:
        """What there is to draw by title, from top to bottom; devices that copy nothing have no
        lane for it."""
        parts = (self.computation, self.communication, self.overlap, self.idle, self.copies)
        lanes = dict(zip(_LANE_TITLES, parts, strict=True))
        if not len(self.copies.start_ns):
            del lanes["Copies"]
        return lanes


@per_trace
def device_activity(trace: Trace) -> dict[int, DeviceActivity]:
    """The activity of every device with work, by device id; cached per trace."""
    work = trace.device_work
    device = indices(work["device"])
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    kinds = kernel_kinds(trace)
    masks = (
        kinds.is_kernel & ~kinds.is_communication,
        kinds.is_communication,
        ~kinds.is_kernel,
    )
    times = {}
    for number in np.unique(device[device >= 0]).tolist():
        here = device == number
        computation, communication, copies = (
            union(start[here & mask], end[here & mask]) for mask in masks
        )
        kernels = union_all(computation, communication)
        times[number] = DeviceActivity(
            computation,
            communication,
            intersect(computation, communication),
            complement(union_all(kernels, copies), trace.meta.start_ns, trace.meta.end_ns),
            copies,
        )
    return times
