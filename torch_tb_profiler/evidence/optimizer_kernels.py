"""Kernels that ``Optimizer.step`` launched."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

STEP = "Optimizer.step"
"""Start of the names of the ranges."""


def optimizer_steps(context: Context) -> pl.DataFrame:
    """The ranges ``Optimizer.step…`` that began in the steps, as ``trace.slices``."""
    ranges = context.ranges_of(Category.OPTIMIZER)
    return ranges.filter(context.texts(ranges["name_code"]).str.starts_with(STEP))


def optimizer_kernels(context: Context) -> pl.DataFrame:
    """The kernels of ``context.kernels`` launched in them, with ``optimizer``, the id of the
    range."""
    around = _optimizer_of_work(context.trace)
    row = np.searchsorted(
        context.trace.device_work["slice"].to_numpy(), context.kernels["slice"].to_numpy()
    )
    inside = around[row]
    steps = optimizer_steps(context)["id"].to_numpy()
    chosen = np.flatnonzero(np.isin(inside, steps))
    return context.kernels[chosen].with_columns(optimizer=pl.Series(inside[chosen]))


@per_trace
def _optimizer_of_work(trace: Trace) -> Int64:
    """Per row of ``trace.device_work`` the range ``Optimizer.step…`` that its launch lies in, -1
    for none."""
    ranges = trace.slices.filter(pl.col("category") == Category.OPTIMIZER)
    names = ranges["name_code"].to_numpy()
    is_step = codes.map_names(trace, names, lambda name: name.startswith(STEP), np.bool_)
    steps = ranges["id"].to_numpy()[is_step]
    launch = indices(trace.device_work["launch"])
    return np.where(launch >= 0, innermost_around_start(trace, steps, launch), -1)
