"""Which ranks entered, started and completed the collectives of each channel."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.hang.dumps import COMPLETED, STARTED, FlightDumps
from torch_tb_profiler.trace.columns import Int64

_CHANNEL_KEY = 1 << 42
"""Sequence numbers are below it."""


class GroupProgress(Struct, frozen=True):
    """The collectives of all channels.

    Attributes:
        calls: One row per rank and collective: ``channel``, ``sequence``, ``rank``, ``state`` (the
            least of its parts), ``compared``, ``call``, ``stack``, ``created_ns``.
        collectives: One row per channel and sequence number: ``entered``, ``pending``, ``started``,
            ``variants`` (calls that do not fit each other), ``forms`` (distinct calls), ``missing``
            (members with a dump that did not enter it), ``first_ns``, ``last_ns``.
        reached: One row per channel and member with a dump: ``rank``, ``reached`` (the last
            sequence number that it entered, 0 for none), ``oldest`` (the first one in its buffer),
            ``is_counted`` (whether a counter of the process says it).
    """

    calls: pl.DataFrame
    collectives: pl.DataFrame
    reached: pl.DataFrame


def progress_of(dumps: FlightDumps) -> GroupProgress:
    """How far each rank came in each channel."""
    calls = _calls(dumps.entries.filter(~pl.col("is_transfer"), pl.col("sequence").is_not_null()))
    reached = _reached(dumps, calls)
    collectives = (
        calls.group_by("channel", "sequence")
        .agg(
            pl.len().alias("entered"),
            (pl.col("state") < COMPLETED).sum().alias("pending"),
            (pl.col("state") == STARTED).sum().alias("started"),
            pl.col("compared").n_unique().alias("variants"),
            pl.col("call").n_unique().alias("forms"),
            pl.col("created_ns").min().alias("first_ns"),
            pl.col("created_ns").max().alias("last_ns"),
        )
        .sort("channel", "sequence")
    )
    return GroupProgress(calls, _with_missing(collectives, reached), reached)


def _calls(entries: pl.DataFrame) -> pl.DataFrame:
    columns = ["channel", "sequence", "rank", "state", "compared", "call", "stack", "created_ns"]
    if not entries["part"].max():
        return entries.select(columns)
    # A batch of several calls is one collective: codes of its parts are combined in their order.
    weight = pl.col("compared") * (2 * pl.col("part").cast(pl.Int64) + 1)
    return (
        entries.with_columns(compared=pl.when(pl.col("part") > 0).then(weight * 7919)
                             .otherwise(pl.col("compared")))
        .group_by("channel", "sequence", "rank", maintain_order=True)
        .agg(
            pl.col("state").min(),
            pl.col("compared").sum(),
            pl.col("call", "stack").first(),
            pl.col("created_ns").min(),
        )
        .select(columns)
    )  # fmt: skip


def _reached(dumps: FlightDumps, calls: pl.DataFrame) -> pl.DataFrame:
    """How far each member with a dump came."""
    dumped = set(dumps.ranks)
    members = [
        (number, rank)
        for number, channel in enumerate(dumps.channels.all)
        for rank in channel.members
        if rank in dumped
    ]
    schema = {"channel": pl.Int32, "rank": pl.Int64}
    table = pl.DataFrame(members, schema, orient="row")
    seen = calls.group_by("channel", "rank").agg(
        pl.col("sequence").max().alias("last"), pl.col("sequence").min().alias("oldest")
    )
    counted = dumps.channels.progress.with_columns(pl.col("channel").cast(pl.Int32))
    return (
        table.join(seen, on=["channel", "rank"], how="left")
        .join(counted, on=["channel", "rank"], how="left")
        .select(
            "channel",
            "rank",
            reached=pl.max_horizontal("last", "last_enqueued").fill_null(0),
            oldest="oldest",
            is_counted=pl.col("last_enqueued").is_not_null(),
        )
        .sort("channel", "reached")
    )


def _with_missing(collectives: pl.DataFrame, reached: pl.DataFrame) -> pl.DataFrame:
    keys = _keys(reached["channel"], reached["reached"])
    first = np.searchsorted(keys, _keys(collectives["channel"], 0))
    behind = np.searchsorted(keys, _keys(collectives["channel"], collectives["sequence"]))
    return collectives.with_columns(missing=pl.Series(behind - first, dtype=pl.Int64))


def _keys(channel: pl.Series, sequence: pl.Series | int) -> Int64:
    number = sequence.to_numpy() if isinstance(sequence, pl.Series) else sequence
    keys: Int64 = channel.to_numpy().astype(np.int64) * _CHANNEL_KEY + number
    return keys
