"""Dumps of earlier attempts of a job, which a folder may hold beside those of the last one.

A process numbers its calls in the order of time. Of two dumps of a rank, one that ends before the
other begins and yet has as high numbers is of another process: the job was started again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Bools, Int64

_OF_RECORDER = ["rank", "backend"]
"""Each back end has a recorder, which numbers its calls of all groups."""


def earlier_attempts(tables: Mapping[str, pl.DataFrame], rank: pl.Series) -> list[int]:
    """The dumps of earlier attempts, as rows of ``flight_dumps``; none where times are unknown.

    Args:
        tables: The tables of all dumps, as ``SIDE_SCHEMAS`` declares them.
        rank: The rank of each dump.
    """
    if rank.n_unique() == len(rank):
        return []
    entries = tables["flight_entries"].filter(
        pl.col("created_ns").is_not_null(), pl.col("call") >= 0
    )
    spans = (
        entries.select(
            "dump",
            "record",
            "created_ns",
            rank=rank.gather(entries["dump"]),
            backend=tables["flight_calls"]["operation"]
            .gather(entries["call"])
            .str.split(":")
            .list.first(),
        )
        .group_by(*_OF_RECORDER, "dump")
        .agg(
            pl.col("record").min().alias("first_record"),
            pl.col("record").max().alias("last_record"),
            pl.col("created_ns").min().alias("first_ns"),
            pl.col("created_ns").max().alias("last_ns"),
        )
    )
    restarts = spans.join(spans, on=_OF_RECORDER, suffix="_later").filter(
        pl.col("last_ns") < pl.col("first_ns_later"),
        pl.col("last_record") >= pl.col("first_record_later"),
    )
    if restarts.is_empty():
        return []
    # Attempts follow each other: what ended before the last one began is of an earlier one too.
    last = restarts.filter(~pl.col("dump_later").is_in(restarts["dump"].unique().implode()))
    whole = last.filter(pl.col("first_record_later") == 0)
    end_ns = max(
        int(restarts["last_ns"].max()),  # type: ignore[arg-type]
        0 if whole.is_empty() else int(whole["first_ns_later"].min()) - 1,  # type: ignore[arg-type]
    )
    ends = entries.group_by("dump").agg(pl.col("created_ns").max())
    ended = ends.filter(pl.col("created_ns") <= end_ns)["dump"]
    return sorted({*restarts["dump"].to_list(), *ended.to_list()})


def without_dumps(tables: Mapping[str, pl.DataFrame], dumps: list[int]) -> dict[str, pl.DataFrame]:
    """The tables without the rows of some dumps."""
    is_remaining = np.ones(tables["flight_dumps"].height, bool)
    is_remaining[dumps] = False
    groups, entries = tables["flight_groups"], tables["flight_entries"]
    has_dump = is_remaining[groups["dump"].to_numpy()]
    rest = entries.filter(pl.Series(is_remaining[entries["dump"].to_numpy()]))
    group = rest["group"].to_numpy()
    group = np.where(group < 0, -1, _numbers(has_dump)[group])
    return {
        **tables,
        "flight_dumps": tables["flight_dumps"].filter(pl.Series(is_remaining)),
        "flight_groups": _renumbered(groups.filter(pl.Series(has_dump)), is_remaining),
        "flight_entries": _renumbered(rest, is_remaining).with_columns(
            group=pl.Series(group, dtype=pl.Int32)
        ),
    }


def _renumbered(table: pl.DataFrame, is_remaining: Bools) -> pl.DataFrame:
    return table.with_columns(
        dump=pl.Series(_numbers(is_remaining)[table["dump"].to_numpy()], dtype=pl.Int32)
    )


def _numbers(is_remaining: Bools) -> Int64:
    """The number of each row among the remaining ones."""
    numbers: Int64 = np.cumsum(is_remaining) - 1
    return numbers
