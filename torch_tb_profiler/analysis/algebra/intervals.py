"""Algebra of time intervals on int64 arrays, vectorised.

Everything but :func:`union` and :class:`WeightProfile` takes and returns :class:`Intervals`:
sorted, disjoint, not touching, none empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.trace.columns import Float64, Int64


class Intervals(NamedTuple):
    """Half-open intervals ``[start_ns, end_ns)`` of equal-length arrays, sorted and disjoint."""

    start_ns: Int64
    end_ns: Int64


class IntervalPieces(NamedTuple):
    """Intervals cut at the edges of windows: non-empty pieces by window, then by time.

    Attributes:
        row: Number of the interval each is a piece of.
        window: Number of the window it lies in.
        start_ns: Its start.
        end_ns: Its end.
    """

    row: Int64
    window: Int64
    start_ns: Int64
    end_ns: Int64

    @property
    def length_ns(self) -> Int64:
        """How long each is."""
        length: Int64 = self.end_ns - self.start_ns
        return length


def empty() -> Intervals:
    """No interval."""
    return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(start_ns: Int64, end_ns: Int64) -> Intervals:
    """What any of the given intervals covers; touching ones join, empty ones vanish.

    Args:
        start_ns: Starts, in any order.
        end_ns: Ends, same length.
    """
    filled = end_ns > start_ns
    start, end = (start_ns, end_ns) if filled.all() else (start_ns[filled], end_ns[filled])
    if not len(start):
        return empty()
    if np.any(start[1:] < start[:-1]):
        # As many have begun as have ended where a gap begins, whichever end belongs to which
        # start: both are sorted on their own, which is faster than their order.
        start, reach = np.sort(start), np.sort(end)
    else:
        reach = np.maximum.accumulate(end)
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return Intervals(start[opens], reach[closes])


def union_all(*parts: Intervals) -> Intervals:
    """What any of ``parts`` covers."""
    filled = [part for part in parts if len(part.start_ns)]
    if len(filled) < 2:
        return filled[0] if filled else empty()
    return union(
        np.concatenate([part.start_ns for part in filled]),
        np.concatenate([part.end_ns for part in filled]),
    )


def total(intervals: Intervals) -> int:
    """Summed length in ns."""
    return int((intervals.end_ns - intervals.start_ns).sum())


def complement(intervals: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """What ``[start_ns, end_ns)`` holds outside ``intervals``."""
    inside = clip(intervals, start_ns, end_ns)
    starts = np.concatenate(([start_ns], inside.end_ns))
    ends = np.concatenate((inside.start_ns, [end_ns]))
    # Often only what lies before the first or after the last is empty.
    first = int(ends[0] <= starts[0])
    last = len(starts) - int(len(starts) > first and ends[-1] <= starts[-1])
    starts, ends = starts[first:last], ends[first:last]
    filled = ends > starts
    return Intervals(starts, ends) if filled.all() else Intervals(starts[filled], ends[filled])


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """What both cover."""
    if not len(a.start_ns) or not len(b.start_ns):
        return empty()
    if len(a.start_ns) > len(b.start_ns):
        a, b = b, a  # the fewer are looked up among the more
    pieces = split_at_windows(b, a.start_ns, a.end_ns)
    return Intervals(pieces.start_ns, pieces.end_ns)


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """What ``a`` covers and ``b`` does not."""
    if not len(a.start_ns):
        return empty()
    start, end = int(a.start_ns[0]), int(a.end_ns[-1])
    near = clip(b, start, end)
    return intersect(a, complement(near, start, end)) if len(near.start_ns) else a


def clip(intervals: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """What lies inside ``[start_ns, end_ns)``, cut at its edges."""
    first = np.searchsorted(intervals.end_ns, start_ns, side="right")
    last = np.searchsorted(intervals.start_ns, end_ns, side="left")
    if first >= last:
        return empty()
    start, end = intervals.start_ns[first:last], intervals.end_ns[first:last]
    if start[0] < start_ns:
        start = np.concatenate(([start_ns], start[1:]))
    if end[-1] > end_ns:
        end = np.concatenate((end[:-1], [end_ns]))
    return Intervals(start, end)


def total_within(intervals: Intervals, start_ns: Int64, end_ns: Int64) -> Int64:
    """Length of ``intervals`` inside each window ``[start_ns[i], end_ns[i])``; 0 for empty windows.

    Windows may overlap and come in any order.
    """
    if not len(start_ns):
        return np.zeros(0, np.int64)
    # Windows are often a small part of the recording: what lies outside all of them is not summed.
    first = np.searchsorted(intervals.end_ns, start_ns.min(), side="right")
    last = np.searchsorted(intervals.start_ns, end_ns.max(), side="left")
    near = Intervals(intervals.start_ns[first:last], intervals.end_ns[first:last])
    until_start, until_end = np.split(
        _covered_before(near, np.concatenate((start_ns, end_ns))), [len(start_ns)]
    )
    within: Int64 = np.maximum(until_end - until_start, 0)
    return within


def split_at_windows(intervals: Intervals, start_ns: Int64, end_ns: Int64) -> IntervalPieces:
    """The pieces of ``intervals`` (sorted and disjoint; they may touch) in the windows
    ``[start_ns[i], end_ns[i])``."""
    first = np.searchsorted(intervals.end_ns, start_ns, side="right")
    last = np.searchsorted(intervals.start_ns, end_ns, side="left")
    counts = np.maximum(last - first, 0)
    if len(counts) and counts.max() <= 1:
        window = np.flatnonzero(counts)
        row = first[window]
    else:
        window = np.repeat(np.arange(len(counts)), counts)
        row = np.arange(len(window)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    return IntervalPieces(
        row,
        window,
        np.maximum(intervals.start_ns[row], start_ns[window]),
        np.minimum(intervals.end_ns[row], end_ns[window]),
    )


def _covered_before(intervals: Intervals, time_ns: Int64) -> Int64:
    """Length of ``intervals`` before each moment."""
    lengths = intervals.end_ns - intervals.start_ns
    before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    index = np.searchsorted(intervals.start_ns, time_ns, side="right")
    # The last interval that has begun may not be over: take off what of it lies ahead.
    ends = np.concatenate((np.full(1, np.iinfo(np.int64).min), intervals.end_ns))
    ahead = np.where(ends[index] > time_ns, ends[index] - time_ns, 0)
    covered: Int64 = before[index] - ahead
    return covered


class WeightProfile:
    """min(Σ weights of the ranges that are active, ``cap``) as a function of time, integrable.

    Concurrent weights add before they are capped: est. SM efficiency is such an integral with
    weight = blocks per SM and cap 1 (``docs/metrics.md#gpus``). Where nothing is active the
    function is exactly 0: rounding leaves no residue.
    """

    def __init__(
        self, start_ns: Int64, end_ns: Int64, weight: Float64, cap: float = np.inf
    ) -> None:
        """Ranges ``[start_ns[i], end_ns[i])`` in any order with their weights; empty ones count
        for nothing."""
        filled = end_ns > start_ns
        weights = weight[filled]
        times = np.concatenate((start_ns[filled], end_ns[filled]))
        # Starts, and mostly ends, are sorted already: a stable sort merges such runs.
        order = np.argsort(times, kind="stable")
        times = times[order]
        is_last = np.append(times[1:] != times[:-1], True)[: len(times)]
        sign = np.where(order < len(weights), 1, -1)
        active = np.cumsum(sign)[is_last]
        summed = np.cumsum(np.tile(weights, 2)[order] * sign)[is_last]
        self._edges_ns = times[is_last]
        self._level = np.where(active > 0, np.clip(summed, 0.0, cap), 0.0)
        lengths = np.diff(self._edges_ns)
        self._integral = np.concatenate(([0.0], np.cumsum(self._level[:-1] * lengths)))

    def integral_within(self, start_ns: Int64, end_ns: Int64) -> float:
        """Σ over the windows ``[start_ns[i], end_ns[i])`` of the integral, in weight × ns."""
        return float(self.integrals(start_ns, end_ns).sum())

    def integrals(self, start_ns: Int64, end_ns: Int64) -> Float64:
        """The integral over each window, in weight × ns; 0 of empty ones."""
        if not len(self._edges_ns):
            return np.zeros(len(start_ns))
        return self._until(np.maximum(start_ns, end_ns)) - self._until(start_ns)

    def levels(self) -> tuple[Int64, Float64]:
        """The moments at which the value changes, in order, and the value from each on."""
        return self._edges_ns, self._level

    def _until(self, time_ns: Int64) -> Float64:
        last = np.searchsorted(self._edges_ns, time_ns, side="right") - 1
        edge = np.maximum(last, 0)
        since = np.maximum(time_ns - self._edges_ns[edge], 0)
        until: Float64 = self._integral[edge] + self._level[edge] * since
        return until


def time_before(spans: Intervals, at_ns: Int64) -> Int64:
    """How much of disjoint, ascending spans lies before each moment: a clock that stands still
    outside of them."""
    if not len(spans.start_ns):
        return np.zeros(len(at_ns), np.int64)
    before = np.append(0, np.cumsum(spans.end_ns - spans.start_ns))
    row = np.searchsorted(spans.start_ns, at_ns, "right") - 1
    inside = np.minimum(at_ns, spans.end_ns[row]) - spans.start_ns[row]
    passed: Int64 = np.where(row >= 0, before[row] + inside, 0)
    return passed
