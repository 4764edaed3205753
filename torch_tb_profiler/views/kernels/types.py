"""Kernel time by what kernels do and in which data types.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.kernels.tensor_core_time import NO_KERNEL_TIME
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.table import NO_TYPES
from torch_tb_profiler.views.null_reasons import missing_reason, needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec

KERNEL_TYPES = TableSpec(
    "kernel_types",
    "Kernels by class and data type",
    "One row per kind of work and data types of its kernels; rows add up to all kernels.",
    (
        Column("kernel_class", "Class", "string", None, "Kind of work; other if unknown."),
        Column(
            "data_types",
            "Data Types",
            "string",
            None,
            "Data types inferred from the names, or else the input types of the operators.",
        ),
        Column("kernels", "Kernels", "integer", "count", "Different names.", additive=True),
        Column("calls", "Calls", "integer", "count", "Number of executions.", additive=True),
        Column("total_us", "Total", "number", "us", "Summed duration.", additive=True),
        Column(
            "pct",
            "Share",
            "number",
            "pct",
            "Total as share of the kernel time of the selection.",
            additive=True,
        ),
    ),
    sort="-total_us,kernel_class,data_types",
    is_summary=True,
)


def kernel_types_table(trace: Trace, kernels: pl.DataFrame) -> Table:
    """The rows of :data:`KERNEL_TYPES`, in default order.

    Args:
        trace: The trace.
        kernels: The rows of the table of kernels, by name.
    """
    groups = kernels.group_by("kernel_class", "data_types", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("kernels"), pl.col("calls", "total_us").sum()
    )
    whole = float(groups["total_us"].sum())
    share = pl.when(whole > 0).then(pl.col("total_us") / (whole or 1.0) * 100)
    frame = groups.with_columns(pct=share).select(list(KERNEL_TYPES.polars_schema()))
    reasons = {
        "data_types": missing_reason(trace, "input_types", NO_TYPES),
        "pct": NO_KERNEL_TIME,
    }
    return in_default_order(Table(KERNEL_TYPES, frame, needed(frame, reasons)))
