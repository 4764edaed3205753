"""Durations of the kernels of a recording by name and launch shape, and its clocks: these are
compared between GPUs.

Definitions: ``docs/advice.md#a-slower-gpu``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import total_within, union
from torch_tb_profiler.analysis.measured.counters import counters_of_role
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MIN_KERNEL_NS = 10_000
"""The time of shorter kernels is mostly start-up."""
MAX_KERNELS = 200
"""At most so many kernels, those with most time."""
KERNEL_DURATIONS = pl.Schema(
    {
        "kernel": pl.String,
        "grid": pl.String,
        "block": pl.String,
        "calls": pl.Int64,
        "median_ns": pl.Float64,
        "total_ns": pl.Int64,
        "of_all_pct": pl.Float64,  # of the time of all kernels except communication
        "longest": pl.Int64,  # slice of the longest call
        "start_ns": pl.Int64,
        "dur_ns": pl.Int64,
    }
)
"""One row per kernel and launch shape, those with most time first."""
CLOCKS = pl.Schema({"clock": pl.String, "mean_mhz": pl.Float64})
_ROLES = {"SM clock": "sm_clock", "memory clock": "memory_clock"}
"""Name of a clock → the role of its counter."""
_SHAPE = ("name_code", "grid_code", "block_code")


@per_trace
def kernel_durations(trace: Trace) -> pl.DataFrame:
    """The kernels of a whole recording as :data:`KERNEL_DURATIONS`, without those that overlap
    communication, which slows them down."""
    kinds = kernel_kinds(trace)
    work = trace.device_work.select(*_SHAPE, "slice", "start_ns", "dur_ns")
    kernels = work.filter(pl.Series(kinds.is_kernel & ~kinds.is_communication))
    communication = work.filter(pl.Series(kinds.is_communication))
    comm_start = communication["start_ns"].to_numpy()
    communicating = union(comm_start, comm_start + communication["dur_ns"].to_numpy())
    start, dur = kernels["start_ns"].to_numpy(), kernels["dur_ns"].to_numpy()
    alone = kernels.filter(pl.Series(total_within(communicating, start, start + dur) == 0))
    longest = pl.col("dur_ns").arg_max()
    groups = (
        alone.group_by(_SHAPE, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("dur_ns").median().alias("median_ns"),
            pl.col("dur_ns").sum().alias("total_ns"),
            pl.col("slice").get(longest).alias("longest"),
            pl.col("start_ns").get(longest),
            pl.col("dur_ns").max(),
        )
        .filter(pl.col("median_ns") >= MIN_KERNEL_NS)
        .sort("total_ns", descending=True, maintain_order=True)
        .head(MAX_KERNELS)
    )
    return groups.select(
        *(
            codes.texts(trace, groups[code]).alias(name)
            for name, code in zip(("kernel", "grid", "block"), _SHAPE, strict=True)
        ),
        "calls",
        "median_ns",
        "total_ns",
        (pl.col("total_ns") / max(int(dur.sum()), 1) * 100).alias("of_all_pct"),
        "longest",
        "start_ns",
        "dur_ns",
    )


@per_trace
def clocks(trace: Trace) -> pl.DataFrame:
    """The clocks of a whole recording as :data:`CLOCKS`: the mean of what was sampled of the
    devices in use; empty where nothing was."""
    means = {clock: _mean(trace, role) for clock, role in _ROLES.items()}
    known = [(clock, mean) for clock, mean in means.items() if mean is not None]
    return pl.DataFrame(known, schema=CLOCKS, orient="row")


def _mean(trace: Trace, role: str) -> float | None:
    """Mean of the samples during the recording; of all samples where none was taken during it."""
    used = set(trace.devices.filter("used")["device"].to_list())
    sampled = [
        each.series for device, each in counters_of_role(trace, role).items() if device in used
    ]
    if not sampled:
        return None
    value = np.concatenate([series.value for series in sampled])
    time_ns = np.concatenate([series.time_ns for series in sampled])
    inside = (time_ns >= trace.meta.start_ns) & (time_ns < trace.meta.end_ns)
    return float((value[inside] if inside.any() else value).mean())
