"""How long each device of one rank ran kernels in each step."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

DEVICE_USE = pl.Schema(
    {
        "step": pl.Int32,  # row of ``trace.steps``
        "device": pl.Int64,
        "kernel_ns": pl.Int64,  # part of the step in which it ran at least one kernel
    }
)
"""One row per step and device that ran work, communication included and copies not, as in GPU
utilization (``docs/metrics.md#gpus``)."""


@per_split
def device_use(trace: Trace) -> pl.DataFrame:
    """:data:`DEVICE_USE` of every step of one rank."""
    start_ns, end_ns = (trace.steps[key].to_numpy() for key in ("start_ns", "end_ns"))
    profiles = gpu_profiles(trace)
    within = [total_within(profile.busy, start_ns, end_ns) for profile in profiles.values()]
    return pl.DataFrame(
        {
            "step": np.tile(np.arange(len(start_ns)), len(profiles)),
            "device": np.repeat([*profiles], len(start_ns)),
            "kernel_ns": np.concatenate([np.empty(0, np.int64), *within]),
        },
        schema_overrides=DEVICE_USE,
    )
