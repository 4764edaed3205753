"""Utilization of each GPU, est. SM efficiency and est. achieved occupancy.

Definitions: ``docs/metrics.md#gpus``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    WeightProfile,
    total_within,
    union,
)
from torch_tb_profiler.analysis.communication.certainty import may_communicate
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.launch_measures import launch_measures
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

FULL_BLOCKS = 1e6
"""Cap of blocks per multiprocessor: the sum is capped at 1 anyway, and absurd values would leave
rounding errors in it."""


class GpuProfile(Struct, frozen=True, eq=False):
    """The kernels of one device over time.

    Attributes:
        busy: When at least one kernel ran.
        computing: When at least one kernel other than communication ran.
        surely_computing: The part of it without kernels that may or may not communicate.
        filled: Blocks per SM of the running kernels, at most 1; None when no kernel records it.
        occupied: Est. achieved occupancy in % summed over the running kernels; None when no kernel
            records it.
        occupied_count: How many kernels with a known occupancy ran.
    """

    busy: Intervals
    computing: Intervals
    surely_computing: Intervals
    filled: WeightProfile | None
    occupied: WeightProfile | None
    occupied_count: WeightProfile


@per_trace
def gpu_profiles(trace: Trace) -> dict[int, GpuProfile]:
    """The profile of every device that ran work, by device id."""
    work = trace.device_work
    device = indices(work["device"])
    kinds = kernel_kinds(trace)
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    measures = launch_measures(trace)
    blocks = np.minimum(_measured(measures["blocks_per_sm"]), FULL_BLOCKS)
    blocks[blocks == 0] = np.nan
    occupancy = _measured(measures["est_achieved_occupancy_pct"])
    doubtful = may_communicate(trace)
    profiles = {}
    for gpu in distinct_values(device[device >= 0]).tolist():
        rows = np.flatnonzero(kinds.is_kernel & (device == gpu))
        computes = ~kinds.is_communication[rows]
        sure = computes & ~doubtful[rows]
        profiles[gpu] = _profile(
            start[rows], end[rows], (computes, sure), blocks[rows], occupancy[rows]
        )
    return profiles


def _measured(column: pl.Series) -> Float64:
    """The values, null as NaN."""
    values: Float64 = column.fill_null(np.nan).to_numpy(writable=True)
    return values


def _profile(
    start: Int64,
    end: Int64,
    computes: tuple[Bools, Bools],
    blocks: Float64,
    occupancy: Float64,
) -> GpuProfile:
    sized = ~np.isnan(blocks)
    estimated = ~np.isnan(occupancy)
    ones = np.ones(int(estimated.sum()))
    busy = computing = surely_computing = union(start, end)
    if not computes[0].all():
        computing = surely_computing = union(start[computes[0]], end[computes[0]])
    if not np.array_equal(*computes):
        surely_computing = union(start[computes[1]], end[computes[1]])
    return GpuProfile(
        busy=busy,
        computing=computing,
        surely_computing=surely_computing,
        filled=WeightProfile(start[sized], end[sized], blocks[sized], cap=1.0)
        if sized.any()
        else None,
        occupied=WeightProfile(start[estimated], end[estimated], occupancy[estimated])
        if estimated.any()
        else None,
        occupied_count=WeightProfile(start[estimated], end[estimated], ones),
    )


class GpuUse(Struct, frozen=True):
    """Use of one GPU in some windows of time; None for values that are unknown.

    Attributes:
        utilization_pct: Share of the time in which at least one kernel ran.
        compute_utilization_pct: Share of it in which one other than communication ran; at most, as
            kernels that may communicate count.
        compute_utilization_min_pct: The same at least: they do not.
        est_sm_efficiency_pct: Mean over time of blocks per SM of the running kernels, at most 1.
        est_achieved_occupancy_pct: Occupancy of the kernels, weighted by their time.
    """

    utilization_pct: float | None
    compute_utilization_pct: float | None
    compute_utilization_min_pct: float | None
    est_sm_efficiency_pct: float | None
    est_achieved_occupancy_pct: float | None


def gpu_use(profile: GpuProfile, start_ns: Int64, end_ns: Int64) -> GpuUse:
    """The use of a GPU in the disjoint windows ``[start_ns[i], end_ns[i])``."""
    window = int((end_ns - start_ns).sum())
    if window <= 0:
        return GpuUse(None, None, None, None, None)
    busy, computing, surely_computing = (
        int(total_within(when, start_ns, end_ns).sum()) / window * 100
        for when in (profile.busy, profile.computing, profile.surely_computing)
    )
    filled = occupancy = None
    if profile.filled is not None:
        filled = profile.filled.integral_within(start_ns, end_ns) / window * 100
    if profile.occupied is not None:
        weight = profile.occupied_count.integral_within(start_ns, end_ns)
        if weight > 0:
            occupancy = profile.occupied.integral_within(start_ns, end_ns) / weight
    return GpuUse(busy, computing, surely_computing, filled, occupancy)
