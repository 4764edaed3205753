"""Ranks that left out one of several equal calls, or made one too many, seen by their stacks.

Equal calls pair up whatever the program meant, so that nothing stops where a rank skips one, but
only where it comes to an end. From there on each of its calls has the stack that the call before or
after it has on the other ranks.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.progress import GroupProgress

LEAST_EQUAL = 3
"""So many earlier calls must have equal stacks: else the ranks run other code anyway."""
LEAST_SHIFTED = 2
"""So many calls must have the stack of another number, and all that follow."""


class StackShift(Struct, frozen=True):
    """A rank whose calls no longer have the numbers that they have on the others.

    Attributes:
        rank: The rank.
        sequence: The first number at which it shows. Within a loop over one place in the code,
            which looks the same each time, it happened before.
        is_skip: Whether it left a call out; else it made one too many.
    """

    rank: int
    sequence: int
    is_skip: bool


def stack_shifts(progress: GroupProgress, channel: int) -> list[StackShift]:
    """The ranks whose stacks are shifted in a channel against those of most members, by rank.

    Of two members it stays open which one is shifted: then there is none.
    """
    calls = progress.calls.filter(pl.col("channel") == channel, pl.col("stack") >= 0)
    shares = calls.group_by("sequence", "stack").len()
    usual = shares.filter(2 * pl.col("len") > pl.col("len").sum().over("sequence"))
    usual = usual.filter(pl.col("len") > 1).select("sequence", usual="stack")
    table = calls.select("rank", "sequence", "stack").join(usual, on="sequence")
    for name, ahead in (("later", 1), ("earlier", -1)):
        other = usual.select(pl.col("sequence") - ahead, pl.col("usual").alias(name))
        table = table.join(other, on="sequence", how="left")
    differs = pl.col("stack") != pl.col("usual")
    table = table.with_columns(
        first=pl.col("sequence").filter(differs).min().over("rank")
    ).drop_nulls("first")
    after = pl.col("sequence") >= pl.col("first")
    ranks = (
        table.group_by("rank", "first")
        .agg(
            equal=after.not_().sum(),
            shifted=differs.sum(),
            is_skip=(pl.col("stack") == pl.col("later")).filter(after).fill_null(True).all(),
            is_extra=(pl.col("stack") == pl.col("earlier")).filter(after).fill_null(True).all(),
        )
        .filter(
            pl.col("equal") >= LEAST_EQUAL,
            pl.col("shifted") >= LEAST_SHIFTED,
            pl.col("is_skip") != pl.col("is_extra"),
        )
        .sort("rank")
    )
    return [
        StackShift(rank, sequence, is_skip)
        for rank, sequence, is_skip in ranks.select("rank", "first", "is_skip").iter_rows()
    ]
