"""Which allocation of a trace is which event of an allocator snapshot: by address, size and time.

Both tools write the time since 1970 that torch converts from its fast clock, each by a conversion
of its own, so that the two differ by an offset. Definitions:
``docs/views-snapshot.md#with-a-trace-of-the-same-process``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int64

ROUNDING_BYTES = 512
"""Torch's allocator rounds blocks up to multiples of it; traces record the block, snapshots the
request."""

UNSPLIT_BYTES = 1 << 20
"""A block may be larger by this much, where the rest was too small for a block of its own."""

WINDOW_NS = 1_000_000
"""Differences of times within such a window are of one offset."""

NARROW_NS = 20_000
"""Inside that window the offset is where most differences are within so much: a busy address is
allocated again after less than the window."""

MAX_RESIDUALS = 10
"""A difference beyond so many residuals is of another allocation of the address."""

MAX_PAIRS = 2_000_000
"""Pairs of equal address from which the offset is derived, of the rarest addresses first."""


class Allocations(Struct, frozen=True, eq=False):
    """Allocations in any order; arrays are aligned."""

    address: Int64
    size_bytes: Int64
    time_ns: Int64


class AllocationMatch(Struct, frozen=True, eq=False):
    """The allocations of a trace that are events of a snapshot.

    Attributes:
        own: Indices into the allocations of the trace.
        other: Of each, the index into those of the snapshot; no index occurs twice.
        offset_ns: What to add to times of the snapshot: the median of the differences.
        residual_ns: Median distance of the differences from it.
    """

    own: Int64
    other: Int64
    offset_ns: int
    residual_ns: int


def match_allocations(
    own: Allocations, other: Allocations, max_offset_ns: int
) -> AllocationMatch | None:
    """Match the allocations of a trace with those of a snapshot.

    Args:
        own: Of the trace.
        other: Of the snapshot, with times on the clock of the trace but for an offset.
        max_offset_ns: The largest plausible offset.

    Returns:
        The match; None where no allocation has the address and size of another.
    """
    offset = _coarse_offset(own, other, max_offset_ns)
    if offset is None:
        return None
    mine, theirs = _nearest(own, other, offset)
    if not mine.size:
        return None
    difference = own.time_ns[mine] - other.time_ns[theirs]
    exact = int(np.median(difference))
    distance = np.abs(difference - exact)
    residual = int(np.median(distance))
    is_near = distance <= max(NARROW_NS, MAX_RESIDUALS * residual)
    return AllocationMatch(mine[is_near], theirs[is_near], exact, residual)


def fits(own_bytes: Int64, other_bytes: Int64) -> Bools:
    """Whether blocks of the trace may hold the requests of the snapshot."""
    result: Bools = own_bytes >= other_bytes
    result &= own_bytes <= _rounded(other_bytes) + UNSPLIT_BYTES
    return result


def _rounded(size_bytes: Int64) -> Int64:
    rounded: Int64 = -(-size_bytes // ROUNDING_BYTES) * ROUNDING_BYTES
    return rounded


def _coarse_offset(own: Allocations, other: Allocations, max_offset_ns: int) -> int | None:
    """The offset on which most pairs of equal address and fitting size agree; of equal ones the
    smallest."""
    mine, theirs = _pairs(own.address, other.address)
    own_bytes, other_bytes = own.size_bytes[mine], other.size_bytes[theirs]
    possible = own_bytes == _rounded(other_bytes)
    if not possible.any():
        possible = fits(own_bytes, other_bytes)
    difference = (own.time_ns[mine] - other.time_ns[theirs])[possible]
    difference = np.sort(difference[np.abs(difference) <= max_offset_ns])
    if not difference.size:
        return None
    return int(np.median(_densest(_densest(difference, WINDOW_NS), NARROW_NS)))


def _densest(ascending: Int64, width_ns: int) -> Int64:
    """The values in the window that holds most of them; of equal ones the nearest to 0."""
    count = np.searchsorted(ascending, ascending + width_ns, "right") - np.arange(len(ascending))
    best = np.flatnonzero(count == count.max())
    start = int(best[np.argmin(np.abs(ascending[best]))])
    return ascending[start : start + int(count[start])]


def _pairs(own: Int64, other: Int64) -> tuple[Int64, Int64]:
    """Indices of pairs of equal address, at most :data:`MAX_PAIRS`."""
    mine, theirs = np.argsort(own, kind="stable"), np.argsort(other, kind="stable")
    first = np.searchsorted(other[theirs], own[mine], "left")
    count = np.searchsorted(other[theirs], own[mine], "right") - first
    rarest = np.argsort(count, kind="stable")
    rarest = rarest[count[rarest] > 0]
    rarest = rarest[np.cumsum(count[rarest]) <= MAX_PAIRS]
    repeats = count[rarest]
    within = np.arange(int(repeats.sum())) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return np.repeat(mine[rarest], repeats), theirs[np.repeat(first[rarest], repeats) + within]


def _nearest(own: Allocations, other: Allocations, offset_ns: int) -> tuple[Int64, Int64]:
    """Each allocation of the trace with the nearest one in time of the same address that fits,
    within :data:`WINDOW_NS`; an event belongs to the nearest allocation only."""
    _, address = np.unique(np.concatenate((own.address, other.address)), return_inverse=True)
    mine, theirs = address[: len(own.address)], address[len(own.address) :]
    time = other.time_ns + offset_ns
    order = np.lexsort((time, theirs))
    low = int(min(own.time_ns.min(), time.min()))
    span = int(max(own.time_ns.max(), time.max())) - low + 1
    if span * (int(address.max()) + 1) >= 2**62:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    keys = theirs[order] * span + (time[order] - low)
    at = np.searchsorted(keys, mine * span + (own.time_ns - low))
    candidates = np.stack((at - 1, at)).clip(0, len(order) - 1)
    rows = order[candidates]
    distance = np.abs(time[rows] - own.time_ns)
    wrong = (theirs[rows] != mine) | (distance > WINDOW_NS)
    wrong |= ~fits(own.size_bytes[None, :], other.size_bytes[rows])
    distance = np.where(wrong, np.iinfo(np.int64).max, distance)
    better = np.argmin(distance, axis=0)
    chosen = np.arange(len(own.address))
    best, row = distance[better, chosen], rows[better, chosen]
    nearest = np.lexsort((best, row))
    nearest = nearest[best[nearest] <= WINDOW_NS]
    is_first = np.diff(row[nearest], prepend=-1) != 0
    selected = np.sort(nearest[is_first])
    return selected, row[selected]
