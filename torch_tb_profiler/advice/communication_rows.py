"""The collectives of the steps as evidence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.analysis.collectives.records import records
from torch_tb_profiler.analysis.forests import covered_lengths

MAX_ROWS = 10


def collective_rows(context: Context) -> tuple[dict[str, object], ...]:
    """Collectives that began in the steps by name and group, those that ran longest first.

    As in the ``collectives`` table, calls that run at the same time count once.
    """
    found = records(context.trace)
    calls = found.frame.filter(
        pl.Series(context.inside(found.frame["start_ns"].to_numpy()))
    ).with_columns(
        row=pl.concat_str("name", pl.col("group").fill_null(""), separator="\n")
        .rank("dense")
        .cast(pl.Int64)
        - 1
    )
    rows = (
        calls.group_by("row")
        .agg(
            pl.col("name", "group").first(),
            pl.len().alias("calls"),
            pl.col("input_bytes").sum().alias("total_bytes"),
        )
        .sort("row")
    )
    ranges = pl.DataFrame(
        {"record": found.record, "start_ns": found.start_ns, "end_ns": found.end_ns}
    ).join(calls.select("record", "row"), on="record")
    total_ns = covered_lengths(
        ranges["row"].to_numpy(),
        ranges["start_ns"].to_numpy(),
        ranges["end_ns"].to_numpy(),
        rows.height,
    )
    rows = rows.with_columns(total_us=pl.Series(total_ns / 1000)).sort(
        "total_us", "name", descending=[True, False]
    )
    shown = rows.select("name", "group", "calls", "total_us", "total_bytes").head(MAX_ROWS)
    return tuple(shown.to_dicts())
