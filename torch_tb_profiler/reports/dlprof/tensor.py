"""``tensor``: a row per operator that could use Tensor Cores, with the kernels it ran."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.dlprof.detail import operators
from torch_tb_profiler.reports.dlprof.table import (
    OPERATORS,
    Report,
    ReportTable,
    Views,
    direction,
    frame_of,
    in_ns,
    with_callers,
    yes_no,
)

KERNELS = ("iterations", "iteration_kernels")


def tensor(views: Views) -> Report:
    """The report: the kernels launched inside each operator, times as counts, as ``detail`` has
    them; counts are of distinct kernels. What a kernel uses that no rule knows is in the totals
    alone."""
    eligible = operators(views).filter(pl.col("tensor_core_eligible"))
    kernels = _kernels(with_callers(frame_of(views, KERNELS), frame_of(views, OPERATORS)))
    joined = eligible.join(kernels, on="operator_id", how="left", maintain_order="left")
    gpu = in_ns(pl.col("gpu_total_us"))
    share = pl.col("tensor_core_total_pct")
    used = (gpu * share / 100).round(0).cast(pl.Int64)
    frame = joined.select(
        pl.col("operator_id").alias("Op ID"),
        pl.col("name").alias("Op Name"),
        direction(pl.col("direction")).alias("Direction"),
        pl.col("type").alias("Op Type"),
        yes_no(pl.col("tensor_core_used")).alias("Uses TC"),
        gpu.alias("Total GPU Time (ns)"),
        used.alias("TC GPU Time (ns)"),
        (gpu - used).alias("Non-TC GPU Time (ns)"),
        share.alias("TC Utilization (%)"),
        pl.col("kernels").fill_null(0).alias("Total Kernel Count"),
        pl.col("using").fill_null(0).alias("TC Kernel Count"),
        pl.col("using_names").fill_null("").alias("TC Kernel Names"),
        pl.col("others").fill_null(0).alias("Non-TC Kernel Count"),
        pl.col("other_names").fill_null("").alias("Non-TC Kernel Names"),
    )
    return Report("tensor", (ReportTable(None, frame),))


def _kernels(calls: pl.DataFrame) -> pl.DataFrame:
    """Per operator how many different kernels it launched, and their names."""
    distinct = calls.select("operator_id", "kernel", "tensor_core_used").unique(maintain_order=True)
    uses = pl.col("tensor_core_used")

    def names(flag: pl.Expr) -> pl.Expr:
        return pl.col("kernel").filter(flag)

    grouped = distinct.group_by("operator_id", maintain_order=True).agg(
        pl.len().alias("kernels"),
        uses.sum().alias("using"),
        (~uses).sum().alias("others"),
        names(uses).alias("using_names"),
        names(~uses).alias("other_names"),
    )
    joined = pl.col("using_names", "other_names").list.join("; ")
    return grouped.with_columns(joined)
