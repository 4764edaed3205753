"""Kernels run, but on few of the multiprocessors."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context, gpu_list
from torch_tb_profiler.advice.evidence import COMPUTE_US_PER_STEP, GPU, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.intervals import WeightProfile, total, union
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

    The gain is what that time would shrink by at the threshold.
    """
    threshold = entry(CODE).threshold
    rows = []
    for gpu in context.kernels["device"].drop_nulls().unique().sort().to_list():
        filled_pct, busy_ns = _filled(context.kernels.filter(pl.col("device") == gpu))
        if filled_pct is not None and filled_pct < threshold:
            busy_us = context.per_step(busy_ns) / NS_PER_US
            rows.append({"gpu": gpu, "filled_pct": filled_pct, "compute_us_per_step": busy_us})
    if not rows:
        return None
    worst = min(rows, key=lambda row: float(row["filled_pct"]))
    return Finding(
        CODE,
        float(worst["filled_pct"]),
        float(worst["compute_us_per_step"]) * (1 - float(worst["filled_pct"]) / threshold),
        values={"gpus": gpu_list([int(row["gpu"]) for row in rows])},
        evidence=filled(EVIDENCE, pl.DataFrame(rows)),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": "mean_blocks_per_sm<1",
        },
        architecture=context.architecture_name,
    )


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
