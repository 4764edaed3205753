"""Intervals of many ranks in one pass, against one rank after the other."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.algebra.intervals import Intervals, empty, total_within, union
from torch_tb_profiler.analysis.algebra.many_intervals import moved_apart


@pytest.mark.parametrize("longest_ns", [100, 2**60])
def test_many_ranks_give_what_each_gives_alone(longest_ns: int) -> None:
    """Also where there is no room to move the times of all ranks apart."""
    chance = np.random.default_rng(5)
    for _ in range(50):
        ranks = int(chance.integers(1, 9))
        times = [_intervals(chance, longest_ns) for _ in range(ranks)]
        windows = [_intervals(chance, longest_ns) for _ in range(ranks)]
        expected = [total_within(own, *its) for own, its in zip(times, windows, strict=True)]
        inside = [np.empty(0, np.int64)] * ranks
        for part in moved_apart(windows):
            within = total_within(part.moved(times), *part.windows)
            for rank in part.ranks:
                inside[rank] = within[part.rank == rank]
        assert [each.tolist() for each in inside] == [each.tolist() for each in expected]


def test_no_window_is_no_rank() -> None:
    """Ranks without steps have nothing to be moved to."""
    assert list(moved_apart([empty(), empty()])) == []


def _intervals(chance: np.random.Generator, longest_ns: int) -> Intervals:
    """None to six intervals, some of them beyond those of other ranks."""
    start = chance.integers(0, longest_ns, int(chance.integers(0, 7)))
    return union(start, start + chance.integers(0, longest_ns // 3, len(start)))
