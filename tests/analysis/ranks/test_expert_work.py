"""What experts compute too much, and whose tokens it is."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.expert_work import above_even, with_partners
from torch_tb_profiler.analysis.ranks.levels import SlowGroup

EXCHANGE = pl.Series([0, 0, 2, 2, None])


def group(level: str, rank: int) -> SlowGroup:
    return SlowGroup(level, [rank], np.array([rank]))


def test_what_one_expert_has_more_the_other_has_less() -> None:
    """30 and 10 are 20 each when divided evenly; 12 and 10 are within 1 of it."""
    expert_ns = np.array([[30.0], [10.0], [12.0], [10.0], [9.0]])
    values = np.array([[20.0], [0.0], [2.0], [0.0], [5.0]])
    assert above_even(values, expert_ns, EXCHANGE).ravel().tolist() == [10, 0, 1, 0, 5]


def test_partners_of_a_rank_with_more_tokens() -> None:
    partners, others = with_partners(
        [group("rank", 0)], [group("rank", 1), group("rank", 3), group("expert", 4)], EXCHANGE
    )
    assert [each.tolist() for each in partners] == [[1]]
    assert [each.names for each in others] == [[3], [4]]
