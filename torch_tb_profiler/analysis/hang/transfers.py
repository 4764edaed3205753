"""Sends and receives that do not end: those without a counterpart, and those that do not fit it."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.analysis.hang.dumps import COMPLETED, STARTED, FlightDumps
from torch_tb_profiler.analysis.hang.positions import Positions
from torch_tb_profiler.analysis.hang.problems import HangKind, HangProblem
from torch_tb_profiler.analysis.hang.signatures import moved_text

_PAIR = r"(?:send|recv)\s*(\d+)\s*(->|<-)\s*(\d+|\?)"

TRANSFERS = {
    "channel": pl.Int32,
    "rank": pl.Int64,  # that called it
    "peer": pl.Int64,  # null: any
    "is_send": pl.Boolean,
    "sequence": pl.Int64,  # of the batch
    "call": pl.Int32,
    "stack": pl.Int32,
    "state": pl.Int8,
    "created_ns": pl.Int64,
    "problem": pl.String,  # "no_counterpart", "transfer_differs", "no_dump"; null where it fits
    "other_call": pl.Int32,  # the counterpart's
    "other_state": pl.Int8,
}
"""Columns of :func:`pending_transfers`."""


def pending_transfers(dumps: FlightDumps) -> pl.DataFrame:
    """The sends and receives that are not completed, each with its counterpart: the k-th one of a
    pair of ranks with the k-th one of the other, as they are carried out in order."""
    rows = dumps.entries.filter(
        pl.col("is_transfer"),
        ~pl.col("is_marker"),
        pl.col("state") < COMPLETED,
        pl.col("call") >= 0,
    )
    if rows.is_empty():
        return pl.DataFrame(schema=TRANSFERS)
    operation = dumps.calls["operation"].gather(rows["call"])
    parts = pl.DataFrame({"operation": operation}).select(
        is_send=pl.col("operation").str.contains("send"),
        own=pl.col("operation").str.extract(_PAIR, 1).cast(pl.Int64, strict=False),
        peer=pl.col("operation").str.extract(_PAIR, 3).cast(pl.Int64, strict=False),
    )
    rows = rows.select(
        "channel", "rank", "sequence", "call", "stack", "state", "created_ns", "record"
    ).with_columns(
        is_send=parts["is_send"], peer=_global_ranks(dumps, rows["channel"], parts["peer"])
    )
    pair = ["channel", "source", "destination", "turn"]
    rows = rows.sort("rank", "record", maintain_order=True).with_columns(
        source=pl.when("is_send").then("rank").otherwise("peer"),
        destination=pl.when("is_send").then("peer").otherwise("rank"),
    )
    turn = pl.int_range(pl.len()).over("channel", "source", "destination", "is_send")
    rows = rows.with_columns(turn=turn)
    others = rows.select(
        *pair,
        pl.col("is_send").not_().alias("is_send"),
        pl.col("call").alias("other_call"),
        pl.col("state").alias("other_state"),
    )
    matched = rows.join(others, on=[*pair, "is_send"], how="left", maintain_order="left")
    dumped = dumps.ranks
    sizes = _elements(dumps)
    own_size = sizes.gather(matched["call"])
    other_size = sizes.gather(matched["other_call"])
    return (
        matched.with_columns(own_size=own_size, other_size=other_size)
        .with_columns(
            problem=pl.when(pl.col("peer").is_null())
            .then(None)
            .when(pl.col("other_call").is_null() & ~pl.col("peer").is_in(dumped))
            .then(pl.lit("no_dump"))
            .when(pl.col("other_call").is_null())
            .then(pl.lit("no_counterpart"))
            .when(pl.col("own_size") != pl.col("other_size"))
            .then(pl.lit("transfer_differs"))
        )
        .select(pl.col(name).cast(dtype) for name, dtype in TRANSFERS.items())
    )


def _global_ranks(dumps: FlightDumps, channel: pl.Series, peer: pl.Series) -> pl.Series:
    """Ranks of the job: names of transfers have those within the group, where it is listed."""
    members = pl.DataFrame(
        [
            (number, index, rank)
            for number, each in enumerate(dumps.channels.all)
            if each.source == "listed"
            for index, rank in enumerate(each.members)
        ],
        {"channel": channel.dtype, "peer": pl.Int64, "job_rank": pl.Int64},
        orient="row",
    )
    table = pl.DataFrame({"channel": channel, "peer": peer})
    joined = table.join(members, on=["channel", "peer"], how="left", maintain_order="left")
    return joined.select(pl.coalesce("job_rank", "peer")).to_series()


def _elements(dumps: FlightDumps) -> pl.Series:
    """Per distinct call what a counterpart must equal: elements and type of what is moved."""
    return pl.Series([moved_text(*row) for row in dumps.calls.iter_rows()], dtype=pl.String)


def transfer_problems(transfers: pl.DataFrame, positions: Positions) -> list[HangProblem]:
    """One problem per rank that is at transfers, all of one batch together."""
    current = positions.calls.filter("is_transfer").select("channel", "rank", "sequence")
    batch = ["channel", "rank", "sequence"]
    has_starts = pl.col("channel").is_in(list(positions.with_starts))
    other = pl.col("other_state")
    rows = transfers.join(current, on=batch, nulls_equal=True).filter(pl.col("peer").is_not_null())
    groups = (
        rows.sort("created_ns", nulls_last=True)
        .group_by(*batch, maintain_order=True)
        .agg(
            pl.col("created_ns").min(),
            # The transfer that explains the batch: the first one that has a problem.
            pl.col("call").sort_by(pl.col("problem").is_null(), maintain_order=True).first(),
            pl.col("state").max(),
            *(
                pl.col("peer").filter(pl.col("problem") == name).unique().sort().alias(name)
                for name in ("no_counterpart", "transfer_differs", "no_dump")
            ),
            pl.col("peer")
            .filter(pl.col("problem").is_null() & has_starts & (other < STARTED))
            .unique()
            .sort()
            .alias("behind"),
        )
    )
    return [_problem(row) for row in groups.iter_rows(named=True)]


def _problem(row: dict[str, Any]) -> HangProblem:
    differs, missing, behind = row["transfer_differs"], row["no_counterpart"], row["behind"]
    kind: HangKind = "not_completed"
    if differs:
        kind = "transfer_differs"
    elif missing:
        kind = "no_counterpart"
    elif behind:
        kind = "not_started"
    elif row["no_dump"]:
        kind = "no_dump"
    return HangProblem(
        channel=row["channel"],
        sequence=row["sequence"] or 0,
        kind=kind,
        waiting=(row["rank"],),
        started=(row["rank"],) if row["state"] == STARTED else (),
        at=(row["rank"],),
        missing=tuple(missing),
        behind=tuple(behind),
        odd=(row["rank"], *differs) if differs else (),
        no_dump=tuple(row["no_dump"]),
        since_ns=row["created_ns"],
        call=row["call"],
        is_transfer=True,
    )
