"""Kernels run, but on few of the multiprocessors."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import WeightProfile, total, union
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import busy, longest, outlook, step_share_pct
from torch_tb_profiler.evidence.program import trains
from torch_tb_profiler.evidence.tables import COMPUTE_US_PER_STEP, GPU, filled
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
            "Mean share of the multiprocessors that had a block while kernels computed.",
            estimated=True,
        ),
        COMPUTE_US_PER_STEP,
    ),
)


def detect(context: Context) -> Finding | None:
    """Est. SM efficiency of a GPU, over the time in which kernels compute on it, lies below the
    threshold. Communication kernels use few multiprocessors by design and do not count.

    The gain is the assumed part of what its kernels would be shorter by at the threshold; those of
    a few microseconds would not be, whose time is that of starting them.
    """
    known = entry(CODE)
    rows, parts = [], []
    for gpu in context.kernels["device"].drop_nulls().unique().sort().to_list():
        kernels = context.kernels.filter(pl.col("device") == gpu)
        filled_pct, busy_ns = _filled(kernels)
        if filled_pct is not None and filled_pct < known.threshold:
            busy_us = context.per_step(busy_ns) / NS_PER_US
            rows.append({"gpu": gpu, "filled_pct": filled_pct, "compute_us_per_step": busy_us})
            parts.append(kernels)
    if not rows:
        return None
    few = _with_few_blocks(pl.concat(parts))
    if step_share_pct(context, few) < known.parameters["min_step_share_pct"]:
        return None
    could = outlook(context, CODE, few, few["saved_ns"].to_numpy())
    worst = min(rows, key=lambda row: float(row["filled_pct"]))
    return Finding(
        CODE,
        float(worst["filled_pct"]),
        could.gain_us,
        variant=_variant(context, few),
        values={
            "gpus": gpu_list([int(row["gpu"]) for row in rows]),
            "kernel": kernel_names(context.trace).short_text(_main_kernel(few)) or "",
            "no_gain_yet": could.no_gain_yet,
        },
        evidence=filled(EVIDENCE, pl.DataFrame(rows)),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": "mean_blocks_per_sm<1",
        },
        architecture=context.architecture_name,
        time=busy(context, few),
        spot=longest(context, few),
        at_stake_us=could.at_stake_us,
    )


def _with_few_blocks(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels with fewer blocks than multiprocessors, and ``saved_ns``, what each is assumed to be
    shorter by at the threshold; 0 for short ones."""
    known = entry(CODE)
    enough = known.threshold / 100
    is_long = pl.col("dur_ns") >= known.parameters["min_kernel_us"] * NS_PER_US
    lost = (1 - pl.col("blocks_per_sm") / enough).clip(0, 1) * pl.col("dur_ns")
    return kernels.filter(pl.col("blocks_per_sm") < 1).with_columns(
        saved_ns=pl.when(is_long)
        .then(lost * known.parameters["assumed_saved_share"])
        .otherwise(0.0)
    )


def _variant(context: Context, few: pl.DataFrame) -> str:
    """Short kernels have too little work each; of long ones the launch is to blame, and larger
    batches help in training alone."""
    short = few["dur_ns"] < entry(CODE).parameters["min_kernel_us"] * NS_PER_US
    if int(few["dur_ns"].filter(short).sum()) * 2 > int(few["dur_ns"].sum()):
        return "short"
    return "default" if trains(context.trace) else "inference"


def _main_kernel(few: pl.DataFrame) -> int:
    """The name code with most time."""
    times = few.group_by("name_code", maintain_order=True).agg(pl.col("dur_ns").sum())
    return int(times.sort("dur_ns", descending=True, maintain_order=True)["name_code"][0])


def _filled(kernels: pl.DataFrame) -> tuple[float | None, float]:
    """Mean over the busy time of the share of multiprocessors with a block, and the busy time in
    ns; None where a kernel does not say its blocks per SM."""
    start = kernels["start_ns"].to_numpy()
    end = start + kernels["dur_ns"].to_numpy()
    blocks = kernels["blocks_per_sm"].fill_null(np.nan).to_numpy()
    busy = union(start, end)
    busy_ns = float(total(busy))
    if busy_ns == 0 or not np.all(np.isfinite(blocks) & (blocks >= 0)):
        return None, busy_ns
    profile = WeightProfile(start, end, blocks, cap=1.0)
    return profile.integral_within(busy.start_ns, busy.end_ns) / busy_ns * 100, busy_ns
