"""The kernels that all workers of a run launch alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.kernels.durations import kernel_paces
from torch_tb_profiler.knowledge.kernels import classify
from torch_tb_profiler.trace.columns import Bools, Float64
from torch_tb_profiler.trace.model import Trace

KEY = ["kernel", "grid", "block"]
OF_WORKER = ["median_ns", "total_ns", "of_all_pct"]
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
    workers: Sequence[Trace], min_same_pct: float, max_calls_off_pct: float
) -> SameKernels | None:
    """The kernels that all workers launch equally often, but for ``max_calls_off_pct`` at the ends
    of recordings; None where they are less than ``min_same_pct`` of the kernel time of one."""
    joined = kernel_paces(workers[0]).select(*KEY, "calls")
    for number, worker in enumerate(workers):
        own = kernel_paces(worker).select(
            *KEY,
            pl.col("calls").alias("own"),
            *(pl.col(key).alias(f"{key}_{number}") for key in OF_WORKER),
        )
        off = (pl.col("own") - pl.col("calls")).abs() * 100
        joined = (
            joined.join(own, on=KEY, nulls_equal=True, maintain_order="left")
            .filter(off <= pl.col("calls") * max_calls_off_pct)
            .drop("own")
        )
    if joined.is_empty():
        return None
    median, total, of_all = (
        np.column_stack([joined[f"{key}_{n}"].to_numpy() for n in range(len(workers))])
        for key in OF_WORKER
    )
    if of_all.sum(axis=0).min() < min_same_pct:
        return None
    computes = [classify(name).kind in COMPUTE for name in joined["kernel"]]
    return SameKernels(
        joined.select("kernel", "calls"), median, total.astype(np.float64), np.array(computes)
    )
