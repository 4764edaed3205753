"""How much of the time of several groups of ranges computation hides.

A moment is exposed where a rank communicates and does not compute. Where several dimensions
communicate in such a moment, it is shared among them equally, so that the exposed times of the
dimensions add up to that of the rank. Hidden is the time of a dimension during computation; it is
not shared.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.grouped_intervals import union_by_group
from torch_tb_profiler.trace.columns import Bools, Int64

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class ExposedTimes(Struct, frozen=True, eq=False):
    """Times in ns, a row per window and a column per group of ranges.

    Attributes:
        total: In which any range of the group ran.
        exposed: The same without computation, shared equally between groups that run at once.
        hidden: The same with computation.
    """

    total: Int64
    exposed: Floats
    hidden: Int64


def exposed_times(
    windows: tuple[Int64, Int64],
    ranges: tuple[Int64, Int64, Int64],
    busy: tuple[Int64, Int64],
    groups: int,
) -> ExposedTimes:
    """How ranges of several groups share the time of windows with computation.

    Args:
        windows: Starts and ends, disjoint and ascending.
        ranges: Group (``0 … groups - 1``), start and end of each, in any order.
        busy: Starts and ends of computation, in any order.
        groups: Number of groups.
    """
    # One sweep over all starts and ends: between two of them nothing changes.
    kind, start, end = union_by_group(
        np.concatenate((ranges[0], np.full(len(busy[0]), groups))),
        np.concatenate((ranges[1], busy[0])),
        np.concatenate((ranges[2], busy[1])),
    )
    count = len(windows[0])
    kind = np.concatenate((kind, np.full(count, groups + 1)))
    times = np.concatenate((start, windows[0], end, windows[1]))
    kind, change = np.tile(kind, 2), np.repeat(np.array((1, -1), np.int8), len(kind))
    order = np.argsort(times, kind="stable")
    at_ns, kind, change = times[order], kind[order], change[order]
    length = np.diff(at_ns, append=at_ns[-1:])

    def active(group: int) -> Bools:
        return np.cumsum(np.where(kind == group, change, 0), dtype=np.int8) > 0

    began = np.cumsum((kind == groups + 1) & (change > 0))
    inside = active(groups + 1) & (length > 0)
    window, length = began[inside] - 1, length[inside]
    computing = active(groups)[inside]
    present = np.unique(ranges[0]).tolist()
    running = [active(group)[inside] for group in present]
    depth = np.zeros(len(length), np.int16)
    for each in running:
        depth += each
    share = np.where(computing | (depth == 0), 0.0, length / np.maximum(depth, 1))

    def per_window(part: Floats) -> Floats:
        lengths: Floats = np.bincount(window, part, minlength=count).astype(np.float64)
        return lengths

    sums = np.zeros((3, count, groups))
    for group, each in zip(present, running, strict=True):
        sums[0, :, group] = per_window(np.where(each, length, 0.0))
        sums[1, :, group] = per_window(np.where(each, share, 0.0))
        sums[2, :, group] = per_window(np.where(each & computing, length, 0.0))
    # Sums of whole ns are exact below 2**53.
    return ExposedTimes(sums[0].astype(np.int64), sums[1], sums[2].astype(np.int64))
