"""Combined activity of all streams per GPU: computation, communication, overlap, exposed
communication, idle, copies.

Computation and communication are kernels, as everywhere
(``docs/metrics.md#computation-and-communication``); copies and memsets are neither. Exposed is
communication without computation, idle what is none of them, from the first slice of the trace to
the last (MindSpore Insight's overlap analysis calls them "pure communication" and "free").
"""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    complement,
    intersect,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LANE_TITLES = ("Computation", "Communication", "Overlap", "Exposed", "Idle", "Copies")
"""From top to bottom; ``categories`` has a code for each."""

_ONLY_IF_ANY = ("Exposed", "Copies")


class DeviceActivity(Struct, frozen=True, eq=False):
    """When one device did what; times of the trace."""

    computation: Intervals
    communication: Intervals
    overlap: Intervals
    exposed: Intervals
    idle: Intervals
    copies: Intervals

    @property
    def lanes(self) -> dict[str, Intervals]:
        """What there is to draw by title, from top to bottom; devices that copy nothing, or never
        communicate alone, have no lane for it."""
        parts = (
            self.computation,
            self.communication,
            self.overlap,
            self.exposed,
            self.idle,
            self.copies,
        )
        return {
            title: intervals
            for title, intervals in zip(LANE_TITLES, parts, strict=True)
            if len(intervals.start_ns) or title not in _ONLY_IF_ANY
        }


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
    for number in distinct_values(device[device >= 0]).tolist():
        here = device == number
        computation, communication, copies = (
            union(start[here & mask], end[here & mask]) for mask in masks
        )
        kernels = union_all(computation, communication)
        times[number] = DeviceActivity(
            computation,
            communication,
            intersect(computation, communication),
            subtract(communication, computation),
            complement(union_all(kernels, copies), trace.meta.start_ns, trace.meta.end_ns),
            copies,
        )
    return times
