"""Kernels that ``Optimizer.step`` launched."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.analysis.containment import innermost_around_start
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.trace.categories import Category


def optimizer_steps(context: Context) -> pl.DataFrame:
    """The ranges ``Optimizer.step…`` that began in the steps, as ``trace.slices``."""
    ranges = context.ranges_of(Category.OPTIMIZER)
    return ranges.filter(context.texts(ranges["name_code"]).str.starts_with("Optimizer.step"))


def optimizer_kernels(context: Context) -> pl.DataFrame:
    """The kernels of ``context.kernels`` launched in them, with ``optimizer``, the id of the
    range."""
    kernels = context.kernels.filter(pl.col("launch").is_not_null())
    inside = innermost_around_start(
        context.trace, optimizer_steps(context)["id"].to_numpy(), indices(kernels["launch"])
    )
    return kernels.with_columns(optimizer=pl.Series(inside, dtype=pl.Int64)).filter(
        pl.col("optimizer") >= 0
    )
