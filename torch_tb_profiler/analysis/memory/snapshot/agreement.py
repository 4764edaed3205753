"""How far a joined snapshot and its trace agree: matched allocations, and the course of memory.

Definitions: ``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.snapshot.joining import (
    JOIN,
    event_allocations,
    in_common,
    own_allocations,
)
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import device_moments
from torch_tb_profiler.analysis.memory.snapshot.owners import record_of_event
from torch_tb_profiler.knowledge.devices import CPU_TYPE
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class CurveDifference(Struct, frozen=True):
    """The difference of allocated bytes on one device, while both recorded it.

    Attributes:
        device: Its number.
        common_ns: How long both recorded.
        max_bytes: Largest absolute difference.
        mean_bytes: Absolute difference, averaged over that time.
        peak_bytes: Largest value of the snapshot in that time.
    """

    device: int
    common_ns: int
    max_bytes: int
    mean_bytes: float
    peak_bytes: int


class SnapshotAgreement(Struct, frozen=True):
    """How far snapshot and trace agree.

    Attributes:
        file: The file of the snapshot.
        offset_ns: What was added to its times.
        residual_ns: Median distance of matched allocations from that; None if unchecked.
        matched: Allocations that both recorded.
        own: Allocations of the trace in the time that both cover.
        other: Allocations of the snapshot in that time.
        curves: Per device that both have totals of.
    """

    file: str
    offset_ns: int
    residual_ns: int | None
    matched: int
    own: int
    other: int
    curves: tuple[CurveDifference, ...]


@per_trace
def snapshot_agreement(trace: Trace) -> SnapshotAgreement | None:
    """How far the joined snapshot agrees with the trace; None without one."""
    side = trace.side.get(JOIN)
    if side is None:
        return None
    file, offset_ns, residual_ns = side.frame.row(0)
    own, other = own_allocations(trace), event_allocations(trace)
    mine = theirs = 0
    if len(own.record) and len(other.event):
        masks = in_common(own.allocations.time_ns, other.allocations.time_ns)
        mine, theirs = (int(mask.sum()) for mask in masks)
    matched = len(record_of_event(trace).event)
    return SnapshotAgreement(
        file, offset_ns, residual_ns, matched, mine, theirs, _differences(trace)
    )


def _differences(trace: Trace) -> tuple[CurveDifference, ...]:
    records = memory_records(trace)
    events = side_frame(trace, "snapshot_events")
    differences = []
    for index, device in enumerate(records.devices):
        moments = next((m for m in device_moments(trace) if m.device == device.id), None)
        rows = np.flatnonzero((records.device == index) & records.has_totals)
        if device.type == CPU_TYPE or moments is None or moments.last < moments.first:
            continue
        part = events.slice(moments.first, moments.last - moments.first + 1)
        difference = _difference(
            device.id,
            (records.time_ns[rows], records.allocated_bytes[rows]),
            (part["time_ns"].to_numpy(), part["allocated_bytes"].to_numpy()),
        )
        if difference is not None:
            differences.append(difference)
    return tuple(differences)


def _difference(
    device: int, own: tuple[Int64, Int64], other: tuple[Int64, Int64]
) -> CurveDifference | None:
    """The difference of two curves of (time, value), each value holding until the next; None where
    they have no time in common."""
    if not len(own[0]) or not len(other[0]):
        return None
    begin = max(int(own[0][0]), int(other[0][0]))
    end = min(int(own[0][-1]), int(other[0][-1]))
    if end <= begin:
        return None
    times = np.unique(np.concatenate((own[0], other[0], [begin, end])))
    times = times[(times >= begin) & (times <= end)]
    mine, theirs = (
        values[np.searchsorted(time, times, "right") - 1] for time, values in (own, other)
    )
    apart = np.abs(mine - theirs)[:-1]
    weights = np.diff(times)
    return CurveDifference(
        device,
        end - begin,
        int(apart.max()),
        float(apart @ weights) / (end - begin),
        int(theirs.max()),
    )
