"""Which candidates are priced, where there are more than can be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from torch_tb_profiler.analysis.ranks.candidates import CauseCandidate
from torch_tb_profiler.analysis.ranks.costs import MAX_CANDIDATES, most_costly
from torch_tb_profiler.analysis.ranks.job import RankJob

RANKS = 64
JOB = cast(RankJob, SimpleNamespace(steps=["1", "2"]))


def candidate(cause: str, ranks: range, excess_ns: float) -> CauseCandidate:
    """Ranks that take so much longer in the second step."""
    excess = np.zeros((RANKS, 2))
    excess[list(ranks), 1] = excess_ns
    return CauseCandidate(
        cause, "rank", list(ranks), np.array(ranks), excess, None, "default", {}
    )  # fmt: skip


def test_a_long_pause_of_one_rank_comes_before_many_that_lose_little() -> None:
    little = [candidate("slow_host", range(n, n + 16), 50.0) for n in range(2 * MAX_CANDIDATES)]
    pause = candidate("pause", range(7, 8), 700.0)
    priced = most_costly(JOB, [*little, pause], least_ns=10.0)
    assert priced[0] is pause
    assert len(priced) == MAX_CANDIDATES


def test_what_all_ranks_together_lose_too_little_of_is_left_out() -> None:
    assert most_costly(JOB, [candidate("pause", range(3), 6.0)], least_ns=10.0) == []
    assert len(most_costly(JOB, [candidate("pause", range(3), 7.0)], least_ns=10.0)) == 1
