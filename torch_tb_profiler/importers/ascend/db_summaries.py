"""The tables of ``analysis.db`` → side tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.importers.ascend.summaries import (
    MB,
    MS,
    PCT,
    STEP,
    group_label,
    side_table_of_frame,
)
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.side_tables import SideTable

STEPS, TIMES, MATRIX, BANDWIDTH = (
    "StepTraceTime", "CommAnalyzerTime", "CommAnalyzerMatrix", "CommAnalyzerBandwidth",
)  # fmt: skip
GROUP = "group_name"
STEP_COLUMNS = {
    "computing_us": "computing",
    "communication_not_overlapped_us": "communication_not_overlapped",
    "overlapped_us": "overlapped",
    "communication_us": "communication",
    "free_us": "free",
    "stage_us": "stage",
    "bubble_us": "bubble",
    "communication_not_overlapped_without_receive_us": (
        "communication_not_overlapped_and_exclude_receive"
    ),
    "preparing_us": "preparing",
}
TIME_COLUMNS = {
    "elapse_us": "elapse_time",
    "transit_us": "transit_time",
    "wait_us": "wait_time",
    "synchronization_us": "synchronization_time",
    "idle_us": "idle_time",
}


def side_tables(database: Database, source: str) -> list[SideTable]:
    """The side tables of the database of Ascend's own analysis."""
    tables = [_steps(database, source), _times(database, source), _links(database, source)]
    return [table for table in tables if table is not None and table.frame.height]


def _steps(database: Database, source: str) -> SideTable:
    frame = _frame(database, STEPS, ("step",), STEP_COLUMNS.values())
    device = pl.Series(database.rows(STEPS, ("deviceId",)), dtype=pl.Object)
    numbers = [cell if isinstance(cell, int) else None for (cell,) in device.to_list()]
    renamed = frame.rename({name: key for key, name in STEP_COLUMNS.items()})
    renamed = renamed.with_columns(device=pl.Series(numbers, dtype=pl.Int64))
    return side_table_of_frame("recorded_steps", source, renamed)


def _times(database: Database, source: str) -> SideTable:
    frame = _frame(
        database,
        TIMES,
        ("hccl_op_name", "group_name", "step", "type"),
        ("start_timestamp", *TIME_COLUMNS.values()),
    )
    return side_table_of_frame(
        "recorded_collectives",
        source,
        frame.select(
            _step(),
            kind="type",
            name="hccl_op_name",
            group="group_name",
            start_us="start_timestamp",
            **{key: pl.col(name) * MS for key, name in TIME_COLUMNS.items()},
        ),
    )


def _links(database: Database, source: str) -> SideTable:
    transfer_columns = ("transit_size", "transit_time", "bandwidth")
    pairs = _frame(
        database,
        MATRIX,
        ("op_name", "hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type", "step"),
        transfer_columns,
    ).select(
        _step(),
        name=pl.coalesce(pl.col("op_name").replace("", None), "hccl_op_name"),
        group="group_name",
        source_rank=pl.col("src_rank").cast(pl.Int64, strict=False),
        destination_rank=pl.col("dst_rank").cast(pl.Int64, strict=False),
        **_transfer_columns(),
    )
    transports = _frame(
        database,
        BANDWIDTH,
        ("hccl_op_name", "group_name", "transport_type", "step"),
        (*transfer_columns, "large_packet_ratio"),
    )
    keys = ["hccl_op_name", "group_name", "transport_type", "step"]
    transports = transports.unique(keys, keep="first", maintain_order=True)
    sums = transports.filter(pl.col("transit_size") > 0).select(
        _step(),
        name="hccl_op_name",
        group="group_name",
        **_transfer_columns(),
        large_packet_pct=pl.col("large_packet_ratio") * PCT,
    )
    return side_table_of_frame("links", source, pl.concat([pairs, sums], how="diagonal"))


def _transfer_columns() -> dict[str, pl.Expr]:
    return {
        "transport": pl.col("transport_type"),
        "size_bytes": pl.col("transit_size") * MB,
        "time_us": pl.col("transit_time") * MS,
        "bandwidth_gbps": pl.col("bandwidth"),
    }


def _step() -> pl.Expr:
    return pl.col("step").str.replace(STEP.pattern.replace("^", "(?i)^"), "").alias("step")


def _frame(database: Database, table: str, texts: Any, numbers: Any) -> pl.DataFrame:
    """Columns of a table; missing columns are null."""
    floats = database.floats(table, tuple(numbers))
    frame = pl.DataFrame(
        {
            **{name: database.series(table, name) for name in texts},
            **{name: pl.Series(values).fill_nan(None) for name, values in floats.items()},
        }
    )
    if GROUP not in frame.columns:
        return frame
    labels = {name: group_label(name) for name in frame[GROUP].drop_nulls().unique().to_list()}
    return frame.with_columns(
        pl.col(GROUP).replace_strict(labels, default=None, return_dtype=pl.String)
    )
