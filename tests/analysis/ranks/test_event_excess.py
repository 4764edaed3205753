"""Excess is taken from the events that are longer than those of other ranks."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.event_excess import divided_excess
from torch_tb_profiler.analysis.ranks.replay import RankProgram


def divided(part_ns: list[list[float]], excess_ns: list[float]) -> list[list[float]]:
    """Of ranks with equally many events of one step."""
    values = np.array(part_ns)
    ranks, count = values.shape
    none = np.full(ranks * count, -1)
    program = RankProgram(
        np.arange(ranks + 1) * count, np.zeros(ranks * count, np.int64), none,
        np.zeros(ranks * count, np.int64), none, np.zeros(0, np.int64), 1,
    )  # fmt: skip
    rank = np.repeat(np.arange(ranks), count)
    excess = np.array(excess_ns)[:, None]
    return divided_excess(program, rank, values.ravel(), excess).reshape(ranks, count).tolist()


def test_excess_is_where_the_rank_takes_longer() -> None:
    assert divided([[5, 5], [5, 5], [5, 5], [5, 9]], [0, 0, 0, 2])[3] == [0, 2]


def test_no_event_is_longer() -> None:
    assert divided([[6, 2], [6, 2], [6, 2]], [4, 0, 0]) == [[3, 1], [0, 0], [0, 0]]


def test_ranks_with_events_of_their_own() -> None:
    assert divided([[6, 2], [7, 1]], [4, 0])[0] == [3, 1]


def test_no_event_gets_shorter_than_nothing() -> None:
    assert divided([[5], [5], [5], [9]], [0, 0, 0, 50])[3] == [9]
