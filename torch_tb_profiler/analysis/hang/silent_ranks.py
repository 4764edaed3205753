"""Ranks whose dump cannot say where they were: older than the others', cut or overwritten.

A collective in which every rank needs every other completes nowhere before all members have called
it. A dump without a call that others completed was therefore written earlier, or in another run.
"""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.hang.dumps import FlightDumps
from torch_tb_profiler.analysis.hang.progress import GroupProgress
from torch_tb_profiler.knowledge import communication

_OF_ALL = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Each rank needs something of every other; a broadcast ends at its root before others call it."""


def older_dumps(dumps: FlightDumps, progress: GroupProgress) -> tuple[int, ...]:
    """The ranks that never called a collective, as their dumps say, which others completed.

    Dumps without an open call were all written while the job ran: none is older then.
    """
    if not progress.collectives["pending"].sum():
        return ()
    names = [communication.collective(each) for each in dumps.calls["operation"]]
    of_all = [number for number, name in enumerate(names) if name in _OF_ALL]
    ended = dumps.entries.filter(
        ~pl.col("is_transfer"), pl.col("completed_ns").is_not_null(), pl.col("call").is_in(of_all)
    )
    last = ended.group_by("channel").agg(pl.col("sequence").max().alias("ended"))
    behind = progress.reached.join(last, on="channel").filter(pl.col("reached") < pl.col("ended"))
    cut = dumps.files.filter("is_partial")["rank"].to_list()
    known = behind.filter(
        pl.col("is_counted") | (pl.col("oldest").is_not_null() & ~pl.col("rank").is_in(cut))
    )
    return tuple(known["rank"].unique().sort())


def without_older(dumps: FlightDumps, ranks: tuple[int, ...]) -> FlightDumps:
    """The dumps without the calls of ranks whose dump is older."""
    return replace(dumps, entries=dumps.entries.filter(~pl.col("rank").is_in(ranks)), older=ranks)


def silent_members(
    dumps: FlightDumps, missing: pl.DataFrame, collectives: pl.DataFrame
) -> pl.DataFrame:
    """Those of the missing members of whom their dump cannot say that they are.

    Args:
        dumps: The dumps.
        missing: Rows of ``GroupProgress.reached``.
        collectives: ``channel`` and ``first_ns`` of the collectives in which they are missing.

    Returns:
        The rows of ``missing`` without a counter of the process whose dump is cut, or whose buffer
        begins after others called the collective.
    """
    cut = dumps.files.filter("is_partial")["rank"].to_list()
    buffers = dumps.entries.group_by("rank").agg(
        begins_ns=pl.col("created_ns").min(), is_overwritten=pl.col("record").min() > 0
    )
    is_gone = (
        pl.col("oldest").is_null()
        & pl.col("is_overwritten")
        & (pl.col("begins_ns") > pl.col("first_ns"))
    ).fill_null(value=False)
    return (
        missing.join(buffers, on="rank", how="left")
        .join(collectives.select("channel", "first_ns"), on="channel", how="left")
        .filter(~pl.col("is_counted") & (pl.col("rank").is_in(cut) | is_gone))
        .select(missing.columns)
    )
