"""``detail``: a row per operator."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.dlprof.table import (
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    sixteen_times,
    unassociated,
)

SOURCE = ("operators", "operators")
ARGUMENTS = ("iteration_operators", "iteration_operators")

IS_OPERATOR = pl.col("kind") == "operator"
"""Other rows are device work that no operator launched, by the host call that did."""

_TITLES = {
    "Op ID": "operator_id",
    "Op Name": "name",
    "Direction": "direction",
    "Op Type": "type",
    "No. Calls": "calls",
    "TC Eligibility": "tensor_core_eligible",
    "Using TC": "tensor_core_used",
    **sixteen_times(),
    "Data Type": "dtype",
    "Input Shapes": "input_shapes",
    "Stack Trace": "call_stack",
}


def operators(views: Views) -> pl.DataFrame:
    """The operators at their places, and what none of them launched, with whether they use Tensor
    Cores and all sixteen times."""
    frame = frame_of(views, SOURCE)
    outside = unassociated(pl.col("name"))
    return frame.with_columns(
        operator_id=pl.when(IS_OPERATOR).then("operator_id").otherwise(outside),
        name=pl.when(IS_OPERATOR).then("name").otherwise(outside),
        type=pl.when(IS_OPERATOR).then("type").otherwise(outside),
        tensor_core_used=pl.col("tensor_core_total_pct") > 0,
        cpu_total_us="host_total_us",
        gpu_total_us="device_total_us",
    )


def detail(views: Views) -> Report:
    """The report; operators in the order of the view, most time first. Shapes and stack are those
    of the first call."""
    calls = frame_of(views, ARGUMENTS).select("operator_id", "input_shapes", "call_stack")
    first = calls.unique("operator_id", keep="first")
    rows = operators(views).drop("call_stack")
    rows = rows.join(first, on="operator_id", how="left", maintain_order="left")
    return Report("detail", (ReportTable(None, renamed(rows, _TITLES)),))
