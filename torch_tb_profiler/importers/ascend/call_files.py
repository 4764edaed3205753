"""``operator_details.csv`` and ``api_statistic.csv`` of a folder without a timeline: sums by name.

Where there is a timeline, both are computed from its events.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.importers.ascend.csv_table import CsvTable
from torch_tb_profiler.trace.quality import QualityReport

HOST = "host, operators"
OPERATOR_TIMES = {
    HOST: "Host Self Duration(us)",
    "device, by operator": "Device Self Duration(us)",
}
"""What runs → the column with the time of each call."""


def sum_operators(table: CsvTable, quality: QualityReport) -> pl.DataFrame:
    """``operator_details.csv``, a row per call, as rows of ``recorded_operators``; rows without a
    name or a time are counted."""
    names = table.texts("Name")
    times = {unit: table.amounts(title) for unit, title in OPERATOR_TIMES.items()}
    is_damaged = names.is_null() | times[HOST].is_null()
    quality.add("side_row_left_out", int(is_damaged.sum()))
    parts = [
        pl.DataFrame({"type": names, "us": us})
        .drop_nulls()
        .group_by("type", maintain_order=True)
        .agg(
            calls=pl.len().cast(pl.Int64),
            total_us=pl.col("us").sum(),
            mean_us=pl.col("us").mean(),
            min_us=pl.col("us").min(),
            max_us=pl.col("us").max(),
        )
        .filter(pl.col("total_us") > 0)
        .sort("total_us", descending=True, maintain_order=True)
        .with_columns(unit=pl.lit(unit, pl.String), pct=_share())
        for unit, us in times.items()
    ]
    return pl.concat(parts)


def sum_calls(table: CsvTable, quality: QualityReport) -> pl.DataFrame:
    """``api_statistic.csv``, whose levels lie in each other, as rows of ``recorded_operators``;
    rows without a name or a time are counted."""
    titles = {
        "total_us": "Time(us)", "mean_us": "Avg(us)", "min_us": "Min(us)", "max_us": "Max(us)",
    }  # fmt: skip
    frame = pl.DataFrame(
        {
            "type": table.texts("API Name"),
            "calls": table.texts("Count").cast(pl.Int64, strict=False),
            **{key: table.amounts(title) for key, title in titles.items()},
            "unit": table.texts("Level").fill_null("calls"),
        }
    )
    known = frame.drop_nulls(["type", "total_us"])
    quality.add("side_row_left_out", frame.height - known.height)
    named = known.with_columns(unit="host, " + pl.col("unit"), pct=_share().over("unit"))
    return named.sort("total_us", descending=True, maintain_order=True)


def _share() -> pl.Expr:
    total = pl.col("total_us").sum()
    return pl.when(total > 0).then(pl.col("total_us") / total * 100)
