"""The GPU waits for the host to launch small kernels."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import CALLS, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.synchronizations import blocked
from torch_tb_profiler.analysis.intervals import intersect, total_within, union_all
from torch_tb_profiler.analysis.roles import Role, exclusive_intervals
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "launch_bound"
EVIDENCE = TableSpec(
    CODE,
    "Small kernels",
    "The small kernels that ran most often.",
    (
        Column("name", "Kernel", "string", None, "Name of the kernel."),
        CALLS,
        Column("mean_us", "Mean time", "number", "us", "Their mean duration."),
    ),
)


def detect(context: Context) -> Finding | None:
    """Nothing runs on the device while the host runs operators and API calls, for more than the
    threshold of the step, and half of the kernels are small.

    Time in which the host itself waits for the device is not counted. The gain is the idle time.
    """
    kernels = context.kernels
    if kernels["launch"].null_count() == kernels.height:  # whether the host was late is unknown
        return None
    known = entry(CODE)
    median_us = float(np.median(kernels["dur_ns"].to_numpy())) / NS_PER_US
    if median_us > known.parameters["small_kernel_us"]:
        return None
    exclusive = exclusive_intervals(context.trace)
    launching = union_all(exclusive[Role.RUNTIME], exclusive[Role.CPU_EXEC])
    start, end = context.windows.start_ns, context.windows.end_ns
    idle_ns = float(total_within(launching, start, end).sum())
    idle_ns -= float(total_within(intersect(launching, blocked(context.trace)), start, end).sum())
    idle = context.per_step(idle_ns)
    share = context.share_pct(idle)
    if share <= known.threshold:
        return None
    small = kernels.filter(pl.col("dur_ns") <= known.parameters["small_kernel_us"] * NS_PER_US)
    rows = (
        small.group_by("name_code", maintain_order=True)
        .agg(pl.len().alias("calls"), pl.col("dur_ns").sum())
        .sort("calls", descending=True, maintain_order=True)
        .head(int(known.parameters["max_rows"]))
    )
    rows = rows.with_columns(
        name=context.texts(rows["name_code"]), mean_us=microseconds(rows["dur_ns"], rows["calls"])
    )
    return Finding(
        CODE,
        share,
        idle / NS_PER_US,
        values={"median_us": median_us},
        evidence=filled(EVIDENCE, rows),
        source={"view": "kernels", "table": "kernels", "sort": "-calls"},
        architecture=context.architecture_name,
    )
