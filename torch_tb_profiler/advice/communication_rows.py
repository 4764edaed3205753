"""The collectives of the steps as evidence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.views.distributed_records import records

MAX_ROWS = 10


def collective_rows(context: Context) -> tuple[dict[str, object], ...]:
    """Collectives that began in the steps by name and group, those that took longest first."""
    found = records(context.trace)
    times = pl.DataFrame(
        {"record": found.record, "ns": found.end_ns - found.start_ns},
        schema={"record": pl.Int64, "ns": pl.Int64},
    )
    calls = found.frame.join(times.group_by("record").agg(pl.col("ns").max()), on="record")
    calls = calls.filter(pl.Series(context.inside(calls["start_ns"].to_numpy())))
    rows = (
        calls.group_by("name", "group")
        .agg(
            pl.len().alias("calls"),
            (pl.col("ns").sum() / 1000).alias("total_us"),
            pl.col("input_bytes").sum().alias("total_bytes"),
        )
        .sort("total_us", "name", descending=[True, False])
    )
    return tuple(rows.head(MAX_ROWS).to_dicts())
