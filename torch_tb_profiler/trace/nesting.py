"""Nesting: which slice lies in which, on each track, without recursion at any depth.

A slice's parent is the nearest one before it (in order of start, longer first) that is still open
at its start and does not end before it does. Slices that cross are kept: the earlier one stops
being a parent where the later one starts. Ends may stick out by the resolution of the file's
clock (formats.md §1.5) and still count as inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.ordering import Mask, OrderedSlices


class TrackClock:
    """Turns (track, time) into one sortable int64.

    Comparisons with the times it was made of are exact for any time asked. Where the times are too
    far apart for a joint key (damaged traces), ranks take the place of times.
    """

    def __init__(self, times_ns: Int64, track_count: int) -> None:
        self._ranked: Int64 | None = None
        first, last = (int(times_ns.min()), int(times_ns.max())) if len(times_ns) else (0, 0)
        if (last - first + 2) * (track_count + 1) >= 2**62:
            self._ranked = np.unique(times_ns)
            first, last = 1, len(self._ranked)
        self._first, self._last, self._span = first, last, last - first + 2

    def keys(self, track: Int32, time_ns: Int64) -> Int64:
        """One key per (track, time); tracks first, then times."""
        time = time_ns
        if self._ranked is not None:
            time = np.searchsorted(self._ranked, time_ns, "right")
        time = np.clip(time, self._first - 1, self._last) - (self._first - 1)
        keys: Int64 = track.astype(np.int64) * self._span + time
        return keys


@dataclass(frozen=True, slots=True)
class Forest:
    """The trees that the slices ``ids`` make.

    ``parent`` (slice id, -1 for roots), ``depth`` and ``crossing`` are aligned with ``ids``, which
    ascend. ``crossing`` marks slices that overlap an earlier one without lying in it.
    """

    ids: Int64
    parent: Int64
    depth: Int32
    crossing: Mask
    _extents: _Extents

    def innermost(self, track: Int32, time_ns: Int64) -> Int64:
        """Per (track, time) the id of the innermost slice with start ≤ time < end, or -1."""
        return self._extents.around(track, time_ns)[0]


class _Extents:
    """The slices longer than 0, properly nested by their ``close`` times, ready for look-ups."""

    def __init__(self, ids: Int64, track: Int32, start: Int64, close: Int64) -> None:
        """``ids`` are the slice ids behind the positions of the other arrays."""
        count = len(start)
        self._ids = np.append(ids, -1)
        self._clock = TrackClock(
            np.concatenate((start, close)), int(track.max()) + 1 if count else 0
        )
        self._starts = self._clock.keys(track, start)
        self._closes = np.sort(self._clock.keys(track, close))
        here = np.arange(count)
        self.depth: Int64 = here - np.searchsorted(self._closes, self._starts, "right")
        self._by_level = np.sort(self.depth * count + here)
        self.parent = self._last_at(self.depth - 1, here)
        self.parent_id = self._ids[self.parent]

    def _last_at(self, depth: Int64, before: Int64) -> Int64:
        """The last extent at ``depth`` among the first ``before + 1``; -1 where depth is -1."""
        count = len(self._starts)
        if count == 0:
            return np.full(len(depth), -1, np.int64)
        wanted = depth * count + before
        order = np.argsort(wanted)
        position = np.empty(len(wanted), np.int64)
        position[order] = np.searchsorted(self._by_level, wanted[order], "right") - 1
        return np.where(depth >= 0, self._by_level[position] % count, -1)

    def around(self, track: Int32, time_ns: Int64) -> tuple[Int64, Int64]:
        """Per (track, time) the id of the innermost extent around it, or -1, and how many are."""
        keys = self._clock.keys(track, time_ns)
        started = np.searchsorted(self._starts, keys, "right")
        depth: Int64 = started - np.searchsorted(self._closes, keys, "right")
        return self._ids[self._last_at(depth - 1, started - 1)], depth


def nest(slices: OrderedSlices, ids: Int64, tolerance_ns: int) -> Forest:
    """Nest the slices ``ids`` (ascending) on their tracks; see the module docstring for the rules.

    Slices of length 0 lie in the innermost slice with start ≤ their time < end and hold nothing.
    """
    track, start, end = slices.track[ids], slices.start_ns[ids], slices.end_ns[ids]
    rows = np.flatnonzero(end > start)
    track_x, start_x, close = track[rows], start[rows], end[rows].copy()
    crossing = np.zeros(len(ids), np.bool_)
    extents = _Extents(ids[rows], track_x, start_x, close)
    broken = (extents.parent >= 0) & (close[extents.parent] < close)
    if broken.any():
        for bad in np.unique(track_x[broken]):
            low, high = np.searchsorted(track_x, (bad, bad + 1))
            close[low:high], crosses = _walk(start_x[low:high], close[low:high], tolerance_ns)
            crossing[rows[low:high]] = crosses
        extents = _Extents(ids[rows], track_x, start_x, close)
    parent = np.empty(len(ids), np.int64)
    depth = np.empty(len(ids), np.int32)
    parent[rows], depth[rows] = extents.parent_id, extents.depth
    points = np.flatnonzero(end <= start)
    parent[points], depth[points] = extents.around(track[points], start[points])
    return Forest(ids, parent, depth, crossing, extents)


def _walk(start: Int64, end: Int64, tolerance_ns: int) -> tuple[Int64, Mask]:
    """Closing times that make the slices of one track nest properly, and which of them cross.

    A stack walk in plain Python: only tracks with slices that cross or stick out need it.
    """
    close: list[int] = []
    crossing = np.zeros(len(start), np.bool_)
    stack: list[int] = []
    for here, (begin, finish) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        closing = finish
        while stack:
            top = stack[-1]
            if close[top] > begin:
                if close[top] + tolerance_ns >= finish:
                    closing = min(finish, close[top])
                    break
                close[top] = begin
                crossing[here] = True
            stack.pop()
        close.append(closing)
        stack.append(here)
    return np.array(close, np.int64), crossing
