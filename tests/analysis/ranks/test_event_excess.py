"""Excess is taken from the events that are longer than those of other ranks."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.ranks.event_excess import divided_excess
from torch_tb_profiler.analysis.ranks.replay import RankProgram
from torch_tb_profiler.analysis.ranks.segments import RankEvent

CALL, WAIT = RankEvent.CALL, RankEvent.WAIT


def divided(
    part_ns: list[list[float]], excess_ns: list[float], kinds: list[list[RankEvent]] | None = None
) -> list[list[float]]:
    """Of ranks with equally many events of one step, all of them calls if no kinds are given."""
    values = np.array(part_ns)
    ranks, count = values.shape
    none = np.full(ranks * count, -1)
    event = np.full(ranks * count, CALL) if kinds is None else np.ravel(kinds)
    program = RankProgram(
        np.arange(ranks + 1) * count, event.astype(np.int64), none,
        np.zeros(ranks * count, np.int64), none, np.zeros(0, np.int64), 1,
    )  # fmt: skip
    rank = np.repeat(np.arange(ranks), count)
    excess = np.array(excess_ns)[:, None]
    return divided_excess(program, rank, values.ravel(), excess).reshape(ranks, count).tolist()


def test_waits_come_earlier_or_later() -> None:
    # Between the calls each takes 5, but for the last one, which takes 9 after the first call.
    kinds = [[CALL, WAIT, CALL], [WAIT, CALL, CALL], [CALL, WAIT, CALL], [CALL, WAIT, CALL]]
    parts: list[list[float]] = [[5, 0, 5], [2, 3, 5], [5, 1, 4], [5, 3, 6]]
    assert divided(parts, [0, 0, 0, 3], kinds)[3] == [0, 1, 2]


def test_excess_is_where_the_rank_takes_longer() -> None:
    assert divided([[5, 5], [5, 5], [5, 5], [5, 9]], [0, 0, 0, 2])[3] == [0, 2]


def test_no_event_is_longer() -> None:
    assert divided([[6, 2], [6, 2], [6, 2]], [4, 0, 0]) == [[3, 1], [0, 0], [0, 0]]


def test_ranks_with_events_of_their_own() -> None:
    assert divided([[6, 2], [7, 1]], [4, 0])[0] == [3, 1]


def test_no_event_gets_shorter_than_nothing() -> None:
    assert divided([[5], [5], [5], [9]], [0, 0, 0, 50])[3] == [9]
