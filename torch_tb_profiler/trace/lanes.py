"""Lanes for device work: overlapping slices of one stream get separate lanes; none is dropped."""

from __future__ import annotations

import heapq

import numpy as np

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import Int32, Int64


class FreeLanes:
    """Assigns lanes from ``first`` on, each to one slice at a time."""

    def __init__(self, first: int) -> None:
        self._busy: list[tuple[int, int]] = []
        self._free: list[int] = []
        self._next = first

    def take(self, start: int, end: int) -> int:
        """The lowest lane that is free from ``start``; it is taken until ``end``.

        Starts must not decrease from call to call.
        """
        while self._busy and self._busy[0][0] <= start:
            heapq.heappush(self._free, heapq.heappop(self._busy)[1])
        if self._free:
            lane = heapq.heappop(self._free)
        else:
            lane, self._next = self._next, self._next + 1
        heapq.heappush(self._busy, (end, lane))
        return lane


def flat_lanes(track: Int32, start_ns: Int64, end_ns: Int64, tolerance_ns: int) -> Int32:
    """Lanes of slices that form no trees: 0 unless a slice overlaps others on its track.

    Slices are ordered by (track, start). An overlap of up to ``tolerance_ns`` is rounding. Only
    runs of slices that overlap are processed one by one.
    """
    lanes = np.zeros(len(start_ns), np.int32)
    overlaps_next = end_ns[:-1] - tolerance_ns > start_ns[1:]
    overlaps_next &= track[1:] == track[:-1]
    if not overlaps_next.any():
        return lanes
    end = np.maximum(end_ns - tolerance_ns, start_ns)
    clock = TrackClock((start_ns, end), int(track.max()) + 1)
    open_until = np.maximum.accumulate(clock.keys(track, end))
    overlaps = np.zeros(len(start_ns), np.bool_)
    overlaps[1:] = open_until[:-1] > clock.keys(track[1:], start_ns[1:])
    run = np.cumsum(~overlaps)
    walked = np.flatnonzero(np.bincount(run)[run] > 1)
    free, last_run = FreeLanes(0), -1
    for here, in_run, begin, finish in zip(
        walked.tolist(),
        run[walked].tolist(),
        start_ns[walked].tolist(),
        end[walked].tolist(),
        strict=True,
    ):
        if in_run != last_run:
            free, last_run = FreeLanes(0), in_run
        lanes[here] = free.take(begin, finish)
    return lanes
