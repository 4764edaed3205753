"""What ranks compute longer in kernels of experts: of whose tokens, and how much too much."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.ranks.levels import SlowGroup
from torch_tb_profiler.trace.columns import Float64, Int64


def above_even(values: Float64, expert_ns: Float64, exchange: pl.Series) -> Float64:
    """The excess of ranks over an even division of tokens among the ranks that exchange them.

    Tokens are not lost: what one expert gets more, others get less, and they are usual then.

    Args:
        values: What each rank takes longer than usual, ``[ranks, steps]``.
        expert_ns: What each computes in kernels of experts, likewise.
        exchange: Per rank the number of the ranks it exchanges tokens with; null where unknown.
    """
    excess: Float64 = values.copy()
    for number in exchange.drop_nulls().unique().to_list():
        rows = np.flatnonzero((exchange == number).fill_null(value=False).to_numpy())
        if len(rows) > 1:
            known = np.nan_to_num(expert_ns[rows])
            excess[rows] = np.clip(known - known.mean(axis=0), 0.0, values[rows])
    return excess


def with_partners(
    larger: list[SlowGroup], of_experts: list[SlowGroup], exchange: pl.Series
) -> tuple[list[Int64], list[SlowGroup]]:
    """Ranks that compute longer as they get tokens of ranks that have more of them.

    Args:
        larger: Ranks with more of all work.
        of_experts: Ranks with more work of experts alone.
        exchange: As of :func:`above_even`.

    Returns:
        Per group of ``larger`` its partners among ``of_experts`` (positions), and the groups of
        ``of_experts`` that are no partners.
    """
    numbers = exchange.fill_null(-1).to_numpy()
    remaining, partners = list(of_experts), []
    for group in larger:
        shared = np.setdiff1d(numbers[group.ranks], [-1])
        following = [
            each
            for each in remaining
            if each.level == "rank" and np.isin(numbers[each.ranks], shared).all()
        ]
        remaining = [each for each in remaining if each not in following]
        partners.append(np.array([r for each in following for r in each.ranks], np.int64))
    return partners, remaining
