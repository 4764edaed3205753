"""Kernels that leave most warps of the SMs empty, with the limiting resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.recording.launch_measures import size_product
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import (
    estimate_gain,
    kernel_intervals,
    kernel_share_pct,
    longest_kernel,
    step_share_pct,
)
from torch_tb_profiler.evidence.measured import measured_by_name
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import CALLS, KERNEL, TOTAL_US, build_table, main_reason
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "low_occupancy"
EVIDENCE = TableSpec(
    CODE,
    "Kernels with low occupancy",
    "One row per kernel and launch configuration, longest total time first.",
    (
        KERNEL,
        CALLS,
        TOTAL_US,
        Column(
            "est_achieved_occupancy_pct",
            "Achieved occupancy",
            "number",
            "pct",
            "Occupied warps of the SMs, in percent; mean weighted by duration. Measured where "
            "hardware counters show it of these kernels.",
            estimated=True,
        ),
        Column(
            "blocks_per_sm",
            "Blocks per SM",
            "number",
            "ratio",
            "Blocks of the launch divided by the SMs of the GPU.",
        ),
        Column("reason", "Limited by", "string", None, "The resource that limits the occupancy."),
    ),
)
REASONS = {"blocks_per_sm": "The recording has no blocks per SM of these kernels."}
LOW_BY_DESIGN = frozenset({"gemm", "gemv", "convolution", "attention", "communication", "rnn"})
"""Kinds whose efficient kernels have few warps with many registers each."""

OCCUPANCY = "est_achieved_occupancy_pct"

ESTIMATED_KEY, MEASURED_KEY = "mean_est_achieved_occupancy_pct", "measured_occupancy_pct"
"""Columns of the view of kernels."""

FEW_BLOCKS = "fewer blocks than SMs"
LIMIT_NAMES = {
    "WARPS": "the number of warps",
    "BLOCKS": "blocks per SM",
    "REGS": "registers",
    "SMEM": "shared memory",
    "BARRIERS": "barriers",
}
"""Limiting factor as Kineto writes it → name of the resource."""


def detect(context: Context) -> Finding | None:
    """Kernels below the threshold take a large part of the kernel time.

    Kernels of a few microseconds do not count, as starting them takes most of their time, nor do
    kinds whose efficient kernels have few warps. The gain is the assumed part of the time in which
    SMs have no block at all; the cost of other limits is unknown.
    """
    known = entry(CODE)
    parameters = known.parameters
    kernels, is_measured = _low(context)
    share = kernel_share_pct(context, kernels)
    if share <= parameters["min_share_pct"]:
        return None
    if step_share_pct(context, kernels) < parameters["min_step_share_pct"]:
        return None
    low = _groups(kernels)
    rows = low.with_columns(
        kernel=context.texts(low["name_code"]),
        total_us=microseconds(low["dur_ns"]),
        reason=pl.Series(
            [_reason(context, row, parameters) for row in low.iter_rows(named=True)],
            dtype=pl.String,
        ),
    )
    empty_share = (1 - kernels["blocks_per_sm"].fill_null(1.0).to_numpy()).clip(0, 1)
    saved = kernels["dur_ns"].to_numpy() * empty_share * parameters["assumed_saved_share"]
    gain = estimate_gain(context, CODE, kernels, saved)
    return Finding(
        CODE,
        float(np.average(kernels[OCCUPANCY].to_numpy(), weights=kernels["dur_ns"].to_numpy())),
        gain.gain_us,
        variant="default" if is_training(context.trace) else "inference",
        values={
            "share": share,
            "reason": main_reason(rows),
            "how": known.texts["measured" if is_measured else "estimated"],
            "no_gain_yet": gain.no_gain_yet,
        },
        evidence=build_table(EVIDENCE, rows.head(int(parameters["max_rows"])), REASONS),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": f"{MEASURED_KEY if is_measured else ESTIMATED_KEY}<{known.threshold:g}",
            "sort": "-total_us",
        },
        architecture=context.architecture_name,
        time=kernel_intervals(context, kernels),
        spot=longest_kernel(context, kernels),
        at_stake_us=gain.at_stake_us,
    )


def _low(context: Context) -> tuple[pl.DataFrame, bool]:
    """The kernels that should have a higher occupancy, and whether that of all of them was
    measured; where it was, it replaces the estimate."""
    known = entry(CODE)
    at_least_ns = known.parameters["min_kernel_us"] * NS_PER_US
    measured = measured_by_name(context, "occupancy", context.kernels)
    kernels = context.kernels.with_columns(
        pl.coalesce(measured, pl.col(OCCUPANCY)).alias(OCCUPANCY),
        is_measured=measured.is_not_null(),
    ).filter((pl.col(OCCUPANCY) < known.threshold) & (pl.col("dur_ns") >= at_least_ns))
    low = kernels.filter(
        context.match_kernel_kinds(
            kernels["name_code"],
            lambda kind: kind.rule is not None and kind.kind not in LOW_BY_DESIGN,
        )
    )
    return low, bool(low["is_measured"].all())


def _groups(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels by name and launch configuration, longest first."""
    keys = [
        "name_code",
        "block_code",
        "registers_per_thread",
        "shared_memory_bytes",
        "occupancy_limit_code",
    ]
    weight = pl.col("dur_ns").sum()
    return (
        kernels.group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            ((pl.col("est_achieved_occupancy_pct") * pl.col("dur_ns")).sum() / weight).alias(
                "est_achieved_occupancy_pct"
            ),
            pl.col("blocks_per_sm").mean(),
            weight.alias("dur"),
        )
        .rename({"dur": "dur_ns"})
        .sort("dur_ns", descending=True, maintain_order=True)
    )


def _reason(context: Context, row: Mapping[str, Any], parameters: Mapping[str, float]) -> str:
    return limiting_reason(
        context.trace.text(row["occupancy_limit_code"]),
        row["blocks_per_sm"],
        row["registers_per_thread"],
        row["shared_memory_bytes"],
        threads=size_product(context.trace.text(row["block_code"])),
        parameters=parameters,
    )


def limiting_reason(
    limits: str | None,
    blocks_per_sm: float | None,
    registers: int | None,
    shared_bytes: int | None,
    *,
    threads: int | None,
    parameters: Mapping[str, float],
) -> str:
    """The resource that limits the occupancy: too few blocks, or the limit that the profiler
    recorded, or what the launch configuration suggests."""
    if blocks_per_sm is not None and blocks_per_sm < 1:
        return FEW_BLOCKS
    if limits:
        names = [LIMIT_NAMES.get(part.strip(" \"'[]").upper(), part) for part in limits.split(",")]
        return " and ".join(names)
    if registers is not None and registers >= parameters["many_registers"]:
        return "registers"
    if shared_bytes is not None and shared_bytes >= parameters["large_shared_memory_bytes"]:
        return "shared memory"
    if threads is not None and threads < parameters["small_block_threads"]:
        return "small blocks"
    return "the launch shape"
