"""The calls at which each rank is: those that its device has begun, else its first open one."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.dumps import COMPLETED, STARTED, FlightDumps


class Positions(Struct, frozen=True):
    """Where each rank is.

    Attributes:
        calls: The calls at which ranks are: ``rank``, ``channel``, ``is_transfer``, ``sequence``,
            ``created_ns``; none for a rank without an open call.
        with_starts: Channels whose back end records that devices begin.
    """

    calls: pl.DataFrame
    with_starts: frozenset[int]


def positions_of(dumps: FlightDumps) -> Positions:
    """Where each rank is.

    A device works on the calls of its rank in their order, so a rank whose device has begun none is
    at its first open call. Where a back end does not record starts, every open call counts.
    """
    entries = dumps.entries
    begun = entries.filter((pl.col("state") == STARTED) | pl.col("started_ns").is_not_null())
    with_starts = frozenset(begun["channel"].unique().to_list())
    pending = entries.filter(pl.col("state") < COMPLETED).sort("rank", "record")
    is_at = (pl.col("state") == STARTED) | ~pl.col("channel").is_in(list(with_starts))
    pending = pending.with_columns(is_at=is_at)
    batch = ["channel", "is_transfer", "sequence"]
    first = pl.struct(batch) == pl.struct(pl.col(name).first().over("rank") for name in batch)
    chosen = pending.filter(pl.col("is_at") | (first & ~pl.col("is_at").any().over("rank")))
    calls = chosen.group_by("rank", *batch).agg(pl.col("created_ns").min())
    return Positions(calls, with_starts)
