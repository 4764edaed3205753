"""The moments of a snapshot that are looked at: its peak, when memory ran out, its end."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.memory.snapshot.lifetimes import (
    BEFORE,
    NO_STACK,
    OOM,
    lifetimes,
    side_frame,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

HOST = -1
"""The device number of pinned memory of the host."""


class DeviceMoments(Struct, frozen=True):
    """Events of one device, as rows of ``snapshot_events``.

    Attributes:
        device: Its number.
        first: Its first event.
        last: Its last one; ``first - 1`` without any.
        peak: After which the most was allocated, the first such; -1 where there was more before
            the first event, or where there is no event.
        ooms: Where memory ran out.
    """

    device: int
    first: int
    last: int
    peak: int
    ooms: tuple[int, ...]


@per_trace
def device_moments(trace: Trace) -> tuple[DeviceMoments, ...]:
    """The moments of every device that has events or segments, in order of their numbers."""
    events = side_frame(trace, "snapshot_events")
    device = events["device"].to_numpy()
    allocated = events["allocated_bytes"].to_numpy()
    is_oom = events["action"].to_numpy() == OOM
    of_segments = side_frame(trace, "snapshot_segments")["device"].to_numpy()
    moments = []
    for number in np.union1d(device, of_segments).tolist():
        first, end = (int(np.searchsorted(device, number, side)) for side in ("left", "right"))
        peak = first + int(np.argmax(allocated[first:end])) if end > first else -1
        ooms = first + np.flatnonzero(is_oom[first:end])
        moments.append(DeviceMoments(number, first, end - 1, peak, tuple(ooms.tolist())))
    return tuple(moments)


def row_at(trace: Trace, moments: DeviceMoments, time_ns: float) -> int:
    """The last event of a device up to a time; ``first - 1`` before the first one."""
    times: Int64 = side_frame(trace, "snapshot_events")["time_ns"].to_numpy()
    part = times[moments.first : moments.last + 1]
    return moments.first - 1 + int(np.searchsorted(part, time_ns, "right"))


def live_allocations(trace: Trace, moments: DeviceMoments, row: int) -> Int64:
    """Places in :func:`lifetimes` of what is alive on a device after an event of its own."""
    return np.flatnonzero(lifetimes(trace).live_at(row, moments.device))


def size_by_stack(trace: Trace, moments: DeviceMoments, row: int) -> pl.DataFrame:
    """What is alive on a device after an event of its own, per call stack, the largest first.

    Returns:
        ``stack`` (row of ``snapshot_stacks``, :data:`NO_STACK` for none), ``is_earlier`` (allocated
        before the first event, and therefore without a stack), ``size_bytes``, ``blocks``, ``pct``
        (of all that is alive).
    """
    lived = lifetimes(trace)
    rows = live_allocations(trace, moments, row)
    stack, size = lived.stack[rows], lived.size_bytes[rows]
    is_earlier = (stack == NO_STACK) & (lived.born[rows] == BEFORE)
    live = pl.DataFrame({"stack": stack, "is_earlier": is_earlier, "size_bytes": size})
    by_stack = live.group_by("stack", "is_earlier").agg(
        pl.col("size_bytes").sum(), pl.len().cast(pl.Int64).alias("blocks")
    )
    ordered = by_stack.sort("size_bytes", "stack", "is_earlier", descending=[True, False, True])
    return ordered.with_columns(pct=pl.col("size_bytes") / max(int(size.sum()), 1) * 100)


def label_of(device: int) -> str:
    """What a device is called."""
    return "pinned memory" if device == HOST else f"GPU {device}"
