"""Algebra of time intervals on int64 arrays, vectorised.

Everything but :func:`union` and :func:`weighted_total` takes and gives :class:`Intervals`:
sorted, disjoint, not touching, none empty. Definitions: peer-behaviour §2.10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


class Intervals(NamedTuple):
    """Half-open intervals ``[start_ns, end_ns)`` of equal-length arrays, sorted and disjoint."""

    start_ns: Int64
    end_ns: Int64


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
    start, end = start_ns[filled], end_ns[filled]
    if not len(start):
        return empty()
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    opens = np.concatenate(([True], start[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return Intervals(start[opens], reach[closes])


def union_all(*parts: Intervals) -> Intervals:
    """What any of ``parts`` covers."""
    return union(
        np.concatenate([part.start_ns for part in parts]),
        np.concatenate([part.end_ns for part in parts]),
    )


def total(intervals: Intervals) -> int:
    """Summed length in ns."""
    return int((intervals.end_ns - intervals.start_ns).sum())


def complement(intervals: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """What ``[start_ns, end_ns)`` holds outside ``intervals``."""
    inside = clip(intervals, start_ns, end_ns)
    starts = np.concatenate(([start_ns], inside.end_ns))
    ends = np.concatenate((inside.start_ns, [end_ns]))
    filled = ends > starts
    return Intervals(starts[filled], ends[filled])


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """What both cover."""
    if not len(a.start_ns) or not len(b.start_ns):
        return empty()
    # Each interval of a meets a run of b's: from the first that ends after it starts,
    # to the last that starts before it ends.
    first = np.searchsorted(b.end_ns, a.start_ns, side="right")
    last = np.searchsorted(b.start_ns, a.end_ns, side="left")
    counts = np.maximum(last - first, 0)
    of_a = np.repeat(np.arange(len(counts)), counts)
    of_b = np.arange(len(of_a)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    return Intervals(
        np.maximum(a.start_ns[of_a], b.start_ns[of_b]),
        np.minimum(a.end_ns[of_a], b.end_ns[of_b]),
    )


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """What ``a`` covers and ``b`` does not."""
    if not len(a.start_ns):
        return empty()
    return intersect(a, complement(b, int(a.start_ns[0]), int(a.end_ns[-1])))


def clip(intervals: Intervals, start_ns: int, end_ns: int) -> Intervals:
    """What lies inside ``[start_ns, end_ns)``, cut at its edges."""
    start = np.maximum(intervals.start_ns, start_ns)
    end = np.minimum(intervals.end_ns, end_ns)
    filled = end > start
    return Intervals(start[filled], end[filled])


def total_within(intervals: Intervals, start_ns: Int64, end_ns: Int64) -> Int64:
    """Length of ``intervals`` inside each window ``[start_ns[i], end_ns[i])``; 0 for empty windows.

    Windows may overlap and come in any order.
    """
    return np.maximum(_covered_before(intervals, end_ns) - _covered_before(intervals, start_ns), 0)


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


def weighted_total(start_ns: Int64, end_ns: Int64, weight: Float64, cap: float = 1.0) -> float:
    """∫ min(Σ weights active, ``cap``) dt in ns: concurrent weights add before they are capped.

    Used for est. SM efficiency (weight = blocks per SM, peer-behaviour §2.10 and §3.4). Where
    nothing is active the integrand is exactly 0: rounding leaves no residue.
    """
    filled = end_ns > start_ns
    start, end, weights = start_ns[filled], end_ns[filled], weight[filled]
    edges, where = np.unique(np.concatenate((start, end)), return_inverse=True)
    if not len(edges):
        return 0.0
    ones = np.ones(len(start), np.int64)
    active = np.cumsum(np.bincount(where, np.concatenate((ones, -ones)), len(edges)))
    summed = np.cumsum(np.bincount(where, np.concatenate((weights, -weights)), len(edges)))
    level = np.where(active > 0, np.minimum(summed, cap), 0.0)
    return float(np.dot(level[:-1], np.diff(edges)))
