"""What hardware counters measured of the kernels of a context, in place of estimates."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import empty, subtract
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.measured.activity import computing_activity
from torch_tb_profiler.analysis.measured.work import group_means, has_measured_work
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.knowledge.device_counters import counter_file


def measured_activity(context: Context, gpu: int) -> float | None:
    """The SM activity of a GPU in % while kernels other than communication run in the steps; None
    where it was not sampled, or samples that show it cover less than ``activity_pct`` of that
    time."""
    computing = context.compute_intervals.get(gpu, empty())
    profile = gpu_profiles(context.trace).get(gpu)
    if profile is None or not len(computing.start_ns):
        return None
    others = subtract(profile.busy, profile.computing)
    activity = computing_activity(context.trace, gpu, computing, others)
    if activity is None or activity.covered_pct < counter_file().activity_pct:
        return None
    return activity.mean_pct


def measured_by_name(context: Context, role: str, kernels: pl.DataFrame) -> pl.Series:
    """Per row of ``kernels`` (of ``context.kernels``) the mean of a role over all of these with its
    name; null where it is not measured, or most of the measured time is in samples that other work
    shares."""
    nothing = pl.Series([None] * kernels.height, dtype=pl.Float64)
    if not has_measured_work(context.trace) or kernels.is_empty():
        return nothing
    names, group = np.unique(kernels["name_code"].to_numpy(), return_inverse=True)
    rows = kernels["row"].cast(pl.Int64).to_numpy()
    means = group_means(context.trace, role, rows, group.astype(np.int64), len(names))
    if means is None:
        return nothing
    is_own = (means.own_pct >= counter_file().fill_pct) & (
        means.covered_pct >= counter_file().activity_pct
    )
    known = np.where(is_own, means.mean, np.nan)
    return pl.Series(known[group], nan_to_null=True)
