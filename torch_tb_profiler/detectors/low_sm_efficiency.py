"""Kernels run on few of the SMs, as measured or estimated."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import WeightProfile, total, union
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import (
    estimate_gain,
    kernel_intervals,
    longest_kernel,
    step_share_pct,
)
from torch_tb_profiler.evidence.measured import measured_activity, measured_by_name
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import COMPUTE_US_PER_STEP, GPU, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "low_sm_efficiency"

EVIDENCE = TableSpec(
    CODE,
    "GPUs with few blocks",
    "One row per GPU below the threshold.",
    (
        GPU,
        Column(
            "filled_pct",
            "SM efficiency",
            "number",
            "pct",
            "Mean share of the SMs with a block while kernels computed.",
            estimated=True,
        ),
        Column(
            "sm_active_pct",
            "SM Active",
            "number",
            "pct",
            "Measured: mean share of the SMs that had work while kernels computed; it replaces the "
            "estimate.",
        ),
        COMPUTE_US_PER_STEP,
    ),
)


REASONS = {
    "filled_pct": "The SM activity of this GPU was measured.",
    "sm_active_pct": "The SM activity of this GPU was not measured.",
}


def detect(context: Context) -> Finding | None:
    """The SM efficiency of a GPU, over the time in which kernels compute on it, is below the
    threshold: as hardware counters measured it, else as estimated from the number of blocks.
    Communication kernels use few SMs by design and do not count.

    The gain is the assumed part of the time that its kernels would save at the threshold; kernels
    of a few microseconds save none, as starting them takes most of their time.
    """
    known = entry(CODE)
    rows, parts = [], []
    for gpu in context.kernels["device"].drop_nulls().unique().sort().to_list():
        kernels = context.kernels.filter(pl.col("device") == gpu)
        filled_pct, busy_ns = _filled(kernels)
        active_pct = measured_activity(context, gpu)
        share_pct = filled_pct if active_pct is None else active_pct
        if share_pct is not None and share_pct < known.threshold:
            busy_us = context.per_step(busy_ns) / NS_PER_US
            row = {"gpu": gpu, "share_pct": share_pct, "compute_us_per_step": busy_us}
            row["filled_pct"] = filled_pct if active_pct is None else None
            rows.append({**row, "sm_active_pct": active_pct})
            parts.append(_with_shares(context, kernels, active_pct))
    if not rows:
        return None
    few = _with_few_blocks(pl.concat(parts))
    if step_share_pct(context, few) < known.parameters["min_step_share_pct"]:
        return None
    gain = estimate_gain(context, CODE, few, few["saved_ns"].to_numpy())
    worst = min(rows, key=lambda row: float(row["share_pct"]))
    is_measured = worst["sm_active_pct"] is not None
    return Finding(
        CODE,
        float(worst["share_pct"]),
        gain.gain_us,
        variant=_variant(context, few),
        values={
            "gpus": gpu_list([int(row["gpu"]) for row in rows]),
            "kernel": kernel_names(context.trace).short_text(_main_kernel(few)) or "",
            "how": known.texts["measured" if is_measured else "estimated"],
            "no_gain_yet": gain.no_gain_yet,
        },
        evidence=build_table(EVIDENCE, pl.DataFrame(rows, infer_schema_length=None), REASONS),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": f"sm_active_pct<{known.threshold:g}"
            if is_measured
            else "mean_blocks_per_sm<1",
            "sort": "-total_us",
        },
        architecture=context.architecture_name,
        time=kernel_intervals(context, few),
        spot=longest_kernel(context, few),
        at_stake_us=gain.at_stake_us,
    )


def _with_shares(context: Context, kernels: pl.DataFrame, active_pct: float | None) -> pl.DataFrame:
    """The kernels of a GPU with ``sm_share``, the part of the SMs that each fills: by its blocks;
    where the activity was measured, that of its name, else that of the GPU."""
    blocks = pl.col("blocks_per_sm")
    if active_pct is None:
        return kernels.with_columns(sm_share=blocks)
    by_name = measured_by_name(context, "sm_active", kernels).fill_null(active_pct) / 100
    return kernels.with_columns(sm_share=by_name)


def _with_few_blocks(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels that fill fewer than all SMs, with ``saved_ns``, the assumed saving of each at the
    threshold; 0 for short ones."""
    known = entry(CODE)
    enough = known.threshold / 100
    is_long = pl.col("dur_ns") >= known.parameters["min_kernel_us"] * NS_PER_US
    lost = (1 - pl.col("sm_share") / enough).clip(0, 1) * pl.col("dur_ns")
    return kernels.filter(pl.col("sm_share") < 1).with_columns(
        saved_ns=pl.when(is_long)
        .then(lost * known.parameters["assumed_saved_share"])
        .otherwise(0.0)
    )


def _variant(context: Context, few: pl.DataFrame) -> str:
    """``short`` if most of the time is in short kernels, which have too little work each; else
    ``default`` for training, where larger batches help, or ``inference``."""
    short = few["dur_ns"] < entry(CODE).parameters["min_kernel_us"] * NS_PER_US
    if int(few["dur_ns"].filter(short).sum()) * 2 > int(few["dur_ns"].sum()):
        return "short"
    return "default" if is_training(context.trace) else "inference"


def _main_kernel(few: pl.DataFrame) -> int:
    """The name code of the kernel with most time."""
    times = few.group_by("name_code", maintain_order=True).agg(pl.col("dur_ns").sum())
    return int(times.sort("dur_ns", descending=True, maintain_order=True)["name_code"][0])


def _filled(kernels: pl.DataFrame) -> tuple[float | None, float]:
    """The mean share of SMs with a block over the busy time, in percent, and the busy time in ns;
    None if a kernel has no blocks per SM."""
    start = kernels["start_ns"].to_numpy()
    end = start + kernels["dur_ns"].to_numpy()
    blocks = kernels["blocks_per_sm"].fill_null(np.nan).to_numpy()
    busy = union(start, end)
    busy_ns = float(total(busy))
    if busy_ns == 0 or not np.all(np.isfinite(blocks) & (blocks >= 0)):
        return None, busy_ns
    profile = WeightProfile(start, end, blocks, cap=1.0)
    return profile.integral_within(busy.start_ns, busy.end_ns) / busy_ns * 100, busy_ns
