"""The kernels that all workers of a run launch alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.intervals import total_within, union
from torch_tb_profiler.knowledge.kernels import classify
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.units import NS_PER_US

KEY = ["kernel", "grid", "block"]
COMPUTE = frozenset({"gemm", "convolution", "attention"})
"""Kinds whose pace the clock of the multiprocessors sets; that of the others memory, mostly."""


@dataclass(frozen=True, slots=True, eq=False)
class SameKernels:
    """Kernels by name and launch shape.

    Attributes:
        kernels: One row each: ``kernel``, ``calls`` (on the first worker).
        median_ns: Median duration, shape ``(kernels, workers)``.
        total_ns: Sum of durations, likewise.
        computes: Per kernel whether the clock sets its pace, rather than memory.
    """

    kernels: pl.DataFrame
    median_ns: Float64
    total_ns: Float64
    computes: Bools


def same_kernels(
    workers: Sequence[Context], min_kernel_us: float, min_same_pct: float
) -> SameKernels | None:
    """The kernels that all workers launch equally often per step; None where they are less than
    ``min_same_pct`` of the kernel time of one of them.

    Kernels shorter than ``min_kernel_us``, and those beside communication, which slows them down,
    do not count.
    """
    tables = [_by_shape(worker, min_kernel_us) for worker in workers]
    joined = tables[0].select(
        *KEY, "calls", *(pl.col(f"{key}_ns").alias(f"{key}_0") for key in _OF)
    )
    for number, table in enumerate(tables[1:], 1):
        own = table.select(
            *KEY,
            pl.col("calls").alias("own_calls"),
            *(pl.col(f"{key}_ns").alias(f"{key}_{number}") for key in _OF),
        )
        steps = workers[0].step_count, workers[number].step_count
        joined = (
            joined.join(own, on=KEY, nulls_equal=True, maintain_order="left")
            .filter(pl.col("own_calls") * steps[0] == pl.col("calls") * steps[1])
            .drop("own_calls")
        )
    if joined.is_empty():
        return None
    medians, totals = (
        np.column_stack([joined[f"{key}_{n}"].to_numpy() for n in range(len(workers))])
        for key in _OF
    )
    whole = [max(int(worker.kernels["dur_ns"].sum()), 1) for worker in workers]
    if (totals.sum(axis=0) / whole).min() * 100 < min_same_pct:
        return None
    computes = [classify(name).kind in COMPUTE for name in joined["kernel"]]
    return SameKernels(
        joined.select("kernel", "calls"),
        medians.astype(np.float64),
        totals.astype(np.float64),
        np.array(computes, np.bool_),
    )


_OF = ("median", "total")


def _by_shape(context: Context, min_kernel_us: float) -> pl.DataFrame:
    """The kernels of a worker: key, ``calls``, ``median_ns``, ``total_ns``."""
    work = context.trace.device_work.select("slice", "grid_code")
    kernels = context.kernels.join(work, on="slice", maintain_order="left")
    start, dur = kernels["start_ns"].to_numpy(), kernels["dur_ns"].to_numpy()
    moving = context.work.filter("is_communication")
    begun = moving["start_ns"].to_numpy()
    beside = total_within(union(begun, begun + moving["dur_ns"].to_numpy()), start, start + dur)
    groups = (
        kernels.filter(pl.Series(beside == 0))
        .group_by("name_code", "grid_code", "block_code", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            pl.col("dur_ns").median().alias("median_ns"),
            pl.col("dur_ns").sum().alias("total_ns"),
        )
        .filter(pl.col("median_ns") >= min_kernel_us * NS_PER_US)
    )
    return groups.with_columns(
        kernel=codes.texts(context.trace, groups["name_code"]),
        grid=codes.texts(context.trace, groups["grid_code"]),
        block=codes.texts(context.trace, groups["block_code"]),
    )
