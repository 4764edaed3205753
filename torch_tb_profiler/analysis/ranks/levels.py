"""Whether slow ranks are slow one by one, or share a node, a switch or an expert."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.rank_causes import rank_causes_file
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

_LEVELS = {
    "experts": ("expert",),
    "uneven_work": ("replica", "chain"),
    "slow_device": ("switch", "node"),
    "slow_host": ("switch", "node"),
    "slow_input": ("switch", "node"),
    "pause": ("switch", "node"),
}
"""Per reason what ranks may share, the largest first; ``experts`` is uneven work in kernels of
experts. What a replica (``replica``, ``chain``) has to do
more is the work of its ranks: it has no level of its own."""


class SlowGroup(Struct, frozen=True, eq=False):
    """Ranks that are slow for one reason.

    Attributes:
        level: ``rank``, ``node``, ``switch`` or ``expert``.
        names: What they share; numbers of ranks at the level ``rank``.
        ranks: Their positions.
    """

    level: str
    names: list[str | int]
    ranks: Int64


def group_ranks(
    reason: str, slow: Bools, values: Float64, coordinates: pl.DataFrame, locations: pl.DataFrame
) -> list[SlowGroup]:
    """Slow ranks, joined where nearly all that share something are slow, or many alike.

    Args:
        reason: Why they are slow.
        slow: Mask of the slow ranks.
        values: What each takes longer, ``[ranks, steps]``.
        coordinates: Their indices in the parallel strategy.
        locations: Where they ran.
    """
    remaining, groups = slow.copy(), []
    mean = values.mean(axis=1)
    for level in _LEVELS[reason]:
        names = (locations if level in locations.columns else coordinates)[level]
        for name in names.drop_nulls().unique(maintain_order=True).to_list():
            members = (names == name).fill_null(value=False).to_numpy()
            if _shares(members, remaining, mean):
                remaining &= ~members
                groups.append(_group(level, name, np.flatnonzero(members), coordinates))
    together = _many_alike(remaining, mean)
    if len(together):
        remaining[together] = False
        groups.append(_group("rank", None, together, coordinates))
    ranks = np.flatnonzero(remaining)
    groups += [_group("rank", None, np.array([rank]), coordinates) for rank in ranks.tolist()]
    return groups


def _many_alike(slow: Bools, mean: Float64) -> Int64:
    """The slow ranks that are one cause together, since they are many and about equally slow: any
    one of them alone costs nothing while the others are as slow. None where they are few."""
    limits = rank_causes_file().limits
    ranks = np.flatnonzero(slow)
    if len(ranks) <= limits.many_ranks:
        return ranks[:0]
    # The longest of so many may be one of another reason.
    usual = float(np.median(mean[ranks]))
    alike = ranks[np.abs(mean[ranks] - usual) <= limits.many_alike_pct / 100 * usual]
    return alike if len(alike) > limits.many_ranks else ranks[:0]


def _shares(members: Bools, slow: Bools, mean: Float64) -> bool:
    """Whether nearly all of some ranks are slow, about equally, and others are not."""
    count = int(members.sum())
    if count < 2 or count == len(members):
        return False
    limits = rank_causes_file().limits
    inside = mean[members]
    # One that stands out by a millisecond is not slow for the reason of one that loses seconds.
    alike = slow[members] & (inside >= limits.least_alike_pct / 100 * float(inside.max()))
    return float(alike.sum()) / count * 100 >= limits.shared_pct


def _group(
    level: str, name: str | int | None, ranks: Int64, coordinates: pl.DataFrame
) -> SlowGroup:
    if level in ("rank", "replica", "chain"):
        declared = coordinates["rank"]
        numbers = [int(declared[r]) if declared[r] is not None else r for r in ranks.tolist()]
        return SlowGroup("rank", list(numbers), ranks)
    return SlowGroup(level, [] if name is None else [name], ranks)
