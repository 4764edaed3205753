"""Intervals of many ranks in one pass: the times of each are moved behind those of the one before,
so that what :mod:`intervals` does with one serves thousands at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import Intervals, union
from torch_tb_profiler.trace.columns import Int64

_MOST_NS = 2**62
"""Moved times stay below this."""


class MovedRanks(Struct, frozen=True, eq=False):
    """Some consecutive ranks whose times are moved apart.

    Attributes:
        ranks: Which, by their position.
        windows: The windows of all of them, moved.
        rank: Per window the position of its rank.
        lowest_ns, highest_ns: First start and last end of these windows, not moved.
    """

    ranks: range
    windows: Intervals
    rank: Int64
    lowest_ns: int
    highest_ns: int

    def moved(self, times: Sequence[Intervals]) -> Intervals:
        """The intervals of these ranks, as far as they lie between the first and the last window.

        Args:
            times: Of every rank, by position.
        """
        own = [times[rank] for rank in self.ranks]
        start, end = _moved(own, self.lowest_ns, self.highest_ns)
        return union(start, end)


def moved_apart(windows: Sequence[Intervals]) -> Iterator[MovedRanks]:
    """Ranks with their windows, as many at once as there is room for; those without windows between
    them included.

    Args:
        windows: Of each rank: in time order, disjoint.
    """
    known = [each for each in windows if len(each.start_ns)]
    if not known:
        return
    lowest = min(int(each.start_ns[0]) for each in known)
    highest = max(int(each.end_ns.max()) for each in known)
    at_once = max(_MOST_NS // (highest - lowest + 1), 1)
    for first in range(0, len(windows), at_once):
        ranks = range(first, min(first + at_once, len(windows)))
        own = [windows[rank] for rank in ranks]
        counts = [len(each.start_ns) for each in own]
        moved = Intervals(*_moved(own, lowest, highest))
        yield MovedRanks(ranks, moved, np.repeat(np.array(ranks), counts), lowest, highest)


def _moved(own: Sequence[Intervals], lowest_ns: int, highest_ns: int) -> tuple[Int64, Int64]:
    """Starts and ends of all, cut to the given range and moved."""
    counts = [len(each.start_ns) for each in own]
    lift = np.repeat(np.arange(len(own)) * (highest_ns - lowest_ns + 1), counts)
    start, end = (np.concatenate(column) for column in zip(*own, strict=True))
    return (
        np.clip(start, lowest_ns, highest_ns) + lift,
        np.clip(end, lowest_ns, highest_ns) + lift,
    )
