"""Time intervals by group, vectorised: their unions, and what they cover and span.

An interval that ends before it starts is empty and lies at its start. Intervals of a group below 0
are left out. Lengths are exact int64 nanoseconds, 0 for a group without intervals.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.trace.columns import Int64


def union_lengths(group: Int64, start_ns: Int64, end_ns: Int64, count: int) -> Int64:
    """Per group, the length in ns that its intervals cover (their union).

    Args:
        group: Group of each interval, ``0 … count - 1``; below 0 for none.
        start_ns: Starts, any order.
        end_ns: Ends, same length.
        count: How many groups there are.
    """
    group, start, end = _in_order(group, start_ns, end_ns)
    covered = np.zeros(count, np.int64)
    if len(group):
        reach = running_maximum(group, end)
        begins = np.append(True, group[1:] != group[:-1])
        before = np.where(begins, start, np.append(start[:1], reach[:-1]))
        np.add.at(covered, group, np.maximum(reach - np.maximum(before, start), 0))
    return covered


def union_by_group(group: Int64, start_ns: Int64, end_ns: Int64) -> tuple[Int64, Int64, Int64]:
    """The union of the intervals of each group: group, start and end of stretches that neither
    overlap nor touch, by group and time; arguments as for :func:`union_lengths`."""
    group, start, end = _in_order(group, start_ns, end_ns)
    if not len(group):
        return group, start, end
    reach = running_maximum(group, end)
    opens = np.append(True, (group[1:] != group[:-1]) | (start[1:] > reach[:-1]))
    closes = np.append(opens[1:], True)
    return group[opens], start[opens], reach[closes]


def span_lengths(group: Int64, start_ns: Int64, end_ns: Int64, count: int) -> Int64:
    """Per group, the time in ns from its first start to its last end; arguments as for
    :func:`union_lengths`."""
    known = group >= 0
    group, start = group[known], start_ns[known]
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, group, start)
    np.maximum.at(last, group, np.maximum(end_ns[known], start))
    spans: Int64 = np.where(first <= last, last - first, 0)
    return spans


def _in_order(group: Int64, start_ns: Int64, end_ns: Int64) -> tuple[Int64, Int64, Int64]:
    """Groups, starts and ends of the intervals of a group, by group and start."""
    known = group >= 0
    if not known.all():
        group, start_ns, end_ns = group[known], start_ns[known], end_ns[known]
    end_ns = np.maximum(end_ns, start_ns)
    rises = (group[1:] == group[:-1]) & (start_ns[1:] >= start_ns[:-1])
    if np.all(rises | (group[1:] > group[:-1])):
        return group, start_ns, end_ns
    order = np.lexsort((start_ns, group))
    return group[order], start_ns[order], end_ns[order]


def running_maximum(group: Int64, values: Int64) -> Int64:
    """Per row the largest of ``values`` so far in its group; ``group`` ascends."""
    # One running maximum serves all groups when each is lifted above the one before. Where times
    # leave no room for that, their ranks do.
    lowest, highest = int(values.min()), int(values.max())
    if (highest - lowest + 1) * (int(group[-1]) + 1) < 2**62:
        lift = group * (highest - lowest + 1) - lowest
        largest: Int64 = np.maximum.accumulate(values + lift) - lift
        return largest
    distinct, rank = factorize(values)
    lift = group * len(distinct)
    return distinct[np.maximum.accumulate(rank + lift) - lift]
