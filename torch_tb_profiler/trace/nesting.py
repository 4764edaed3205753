"""Nesting: which slice lies in which, on each track, without recursion at any depth.

A slice's parent is the nearest earlier one (in order of start, longer first) that is still open at
its start and does not end before it does. Crossing slices are retained: the earlier one stops being
a parent where the later one starts. An end may exceed the parent's by the resolution of the file's
clock, because starts and durations are rounded separately.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.trace.blocks import blocks
from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant, neighbours
from torch_tb_profiler.trace.lanes import FreeLanes
from torch_tb_profiler.trace.ordering import OrderedSlices


class NestedSpans(Struct, frozen=True, eq=False):
    """Input of :func:`nest`: rows ordered by (track, start, longer first), without negative
    durations."""

    track: Int32
    start_ns: Int64
    end_ns: Int64


class Forest(Struct, frozen=True):
    """The trees formed by the slices ``ids``.

    ``parent`` (slice id, -1 for roots), ``depth`` and ``lane`` are aligned with ``ids``, which
    ascend. ``lane`` is 0 except for slices that overlap an earlier one without lying in it, and for
    their contents; ``crossing_count`` is the number of those slices.
    """

    ids: Int64
    parent: Int64
    depth: Int32
    lane: Int32
    crossing_count: int
    _extents: _Extents | None

    def without_lookup(self) -> Forest:
        """The same trees without the memory that only :meth:`innermost` needs."""
        return replace(self, _extents=None)

    def innermost(self, track: Int32, time_ns: Int64) -> Int64:
        """Per (track, time) the id of the innermost slice with start ≤ time < end, or -1.

        Raises:
            TypeError: the forest was built without support for lookups.
        """
        if self._extents is None:
            raise TypeError("this forest is not searchable")
        return self._extents.around(track, time_ns)[0]


class _Extents:
    """The slices longer than 0, properly nested by their ``close`` times, indexed for lookups."""

    def __init__(self, ids: Int64, track: Int32, start: Int64, close: Int64) -> None:
        """``ids`` are the slice ids of the positions in the other arrays."""
        count = len(start)
        self._ids = np.append(ids, -1)
        self._clock = TrackClock((start, close), int(track.max()) + 1 if count else 0)
        self._starts = self._clock.keys(track, start)
        self._closes = self._clock.keys(track, close)
        self._closes.sort()
        here = np.arange(count)
        self.depth: Int64 = np.searchsorted(self._closes, self._starts, "right")
        np.subtract(here, self.depth, out=self.depth)
        if not self.depth.any():  # nothing lies in another
            self._by_level = here
            self.parent = self.parent_id = constant(-1, count, np.int64)
            return
        self.parent = np.full(count, -1)
        self._by_level = np.sort(self.depth * count + here)
        self.parent[self._by_level % max(count, 1)] = self._last_at(self._by_level - count)
        self.parent_id = self._ids[self.parent]

    def _last_at(self, wanted: Int64) -> Int64:
        """Per ``depth × count + before``, ascending, the last extent at that depth among the first
        ``before + 1``; -1 where the depth is -1."""
        position = np.searchsorted(self._by_level, wanted, "right") - 1
        return np.where(wanted >= 0, self._by_level[position] % len(self._by_level), -1)

    def around(self, track: Int32, time_ns: Int64) -> tuple[Int64, Int64]:
        """Per (track, time) the id of the innermost extent around it, or -1, and the number of
        extents around it."""
        count = len(self._starts)
        if count == 0:
            return np.full(len(track), -1, np.int64), np.zeros(len(track), np.int64)
        innermost, depth = np.empty(len(track), np.int64), np.empty(len(track), np.int64)
        for rows in blocks(len(track)):
            keys = self._clock.keys(track[rows], time_ns[rows])
            started = np.searchsorted(self._starts, keys, "right")
            depth[rows] = started - np.searchsorted(self._closes, keys, "right")
            wanted = (depth[rows] - 1) * count + started - 1
            order = np.argsort(wanted)
            innermost[rows][order] = self._ids[self._last_at(wanted[order])]
        return innermost, depth


def nest(
    slices: OrderedSlices | NestedSpans,
    ids: Int64,
    tolerance_ns: int,
    *,
    is_searchable: bool = True,
) -> Forest:
    """Nest the slices ``ids`` (ascending) on their tracks; see the module docstring for the rules.

    Slices of length 0 lie in the innermost slice with start ≤ their time < end and contain nothing.
    A forest that is not searchable by time takes less memory.
    """
    chosen = neighbours(ids)
    track, start, end = slices.track[chosen], slices.start_ns[chosen], slices.end_ns[chosen]
    points = np.flatnonzero(end <= start)
    rows: Int64 | slice = slice(None)  # all, as in most recordings
    if len(points):
        rows = np.flatnonzero(end > start)
    track_x, start_x, close = track[rows], start[rows], end[rows]
    lane = np.zeros(len(ids), np.int32)
    crossing_count = 0
    extents = _Extents(ids[rows], track_x, start_x, close)
    broken = np.zeros(0, np.bool_)
    if not is_constant(extents.parent):
        broken = (extents.parent >= 0) & (close[extents.parent] < close)
    if broken.any():
        close = close.copy()
        for crossing_track in np.unique(track_x[broken]):
            low, high = np.searchsorted(track_x, (crossing_track, crossing_track + 1))
            walked = _walk(start_x[low:high], close[low:high], tolerance_ns)
            close[low:high] = walked.close
            of_track = slice(low, high) if isinstance(rows, slice) else rows[low:high]
            lane[of_track] = walked.lane
            crossing_count += walked.crossing_count
        extents = _Extents(ids[rows], track_x, start_x, close)
    parent, depth = extents.parent_id, extents.depth.astype(np.int32)
    if is_constant(parent) and parent[0] < 0:
        depth = constant(0, len(parent), np.int32)
    if len(points):
        parent, depth = np.empty(len(ids), np.int64), np.empty(len(ids), np.int32)
        parent[rows], depth[rows] = extents.parent_id, extents.depth
        parent[points], depth[points] = extents.around(track[points], start[points])
    if crossing_count:
        inside_lane = points[parent[points] >= 0]
        lane[inside_lane] = lane[np.searchsorted(ids, parent[inside_lane])]
    lookup = extents if is_searchable else None
    return Forest(ids, parent, depth, lane, crossing_count, lookup)


class _Walked(Struct):
    """Closing times with which the slices of one track nest properly, and their lanes."""

    close: list[int]
    lane: list[int]
    crossing_count: int = 0


def _walk(start: Int64, end: Int64, tolerance_ns: int) -> _Walked:
    """Nest one track with a stack, in plain Python: only tracks with slices that cross or exceed
    their parent need it.

    A crossing slice gets a free lane; it outlives all slices that it crosses, so later ones may
    continue in the lane of their own parent.
    """
    walked = _Walked([], [])
    close, lanes, free = walked.close, walked.lane, FreeLanes(1)
    stack: list[int] = []
    for here, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        closing, crosses = finish, False
        while stack:
            top = stack[-1]
            if close[top] > begin:
                if close[top] + tolerance_ns >= finish:
                    closing = min(finish, close[top])
                    break
                close[top] = begin
                crosses = True
            stack.pop()
        if crosses:
            walked.crossing_count += 1
            lanes.append(free.take(begin, finish))
        else:
            lanes.append(lanes[stack[-1]] if stack else 0)
        close.append(closing)
        stack.append(here)
    return walked
