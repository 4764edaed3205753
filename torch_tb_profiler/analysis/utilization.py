"""How busy and how full each GPU was: utilization, est. SM efficiency, est. achieved occupancy.

Definitions: ``docs/metrics.md#gpus``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.intervals import Intervals, WeightProfile, total_within, union
from torch_tb_profiler.analysis.kernel_kinds import kernel_kinds
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

FULL_BLOCKS = 1e6
"""More blocks per multiprocessor say no more: the sum is capped at 1, and absurd values would
leave residues of rounding in it."""

NO_KNOWN_KERNEL = "The selection holds no kernel whose Tensor Core use is known."


@dataclass(frozen=True, slots=True, eq=False)
class GpuProfile:
    """What the kernels of one device did over time.

    Attributes:
        busy: When at least one kernel ran.
        filled: Blocks per SM of what ran, at most 1; None when no kernel says it.
        occupied: Est. achieved occupancy in % summed over what ran; None when no kernel says it.
        occupied_count: How many kernels with a known occupancy ran.
    """

    busy: Intervals
    filled: WeightProfile | None
    occupied: WeightProfile | None
    occupied_count: WeightProfile


@per_trace
def gpu_profiles(trace: Trace) -> dict[int, GpuProfile]:
    """The profile of every device that ran work, by device id; made once."""
    work = trace.device_work
    device = indices(work["device"])
    is_kernel = kernel_kinds(trace).is_kernel
    start = work["start_ns"].to_numpy()
    end = start + work["dur_ns"].to_numpy()
    blocks = np.minimum(_measured(work["blocks_per_sm"]), FULL_BLOCKS)
    blocks[blocks == 0] = np.nan
    occupancy = _measured(work["est_achieved_occupancy_pct"])
    occupancy[occupancy > 100] = np.nan
    profiles = {}
    for gpu in np.unique(device[device >= 0]).tolist():
        rows = np.flatnonzero(is_kernel & (device == gpu))
        profiles[gpu] = _profile(start[rows], end[rows], blocks[rows], occupancy[rows])
    return profiles


def _measured(column: pl.Series) -> Float64:
    """The values with NaN for what is absent, negative or not finite: no measurement."""
    values = column.fill_null(np.nan).to_numpy()
    return np.where(np.isfinite(values) & (values >= 0), values, np.nan)


def _profile(start: Int64, end: Int64, blocks: Float64, occupancy: Float64) -> GpuProfile:
    sized = ~np.isnan(blocks)
    estimated = ~np.isnan(occupancy)
    ones = np.ones(int(estimated.sum()))
    return GpuProfile(
        busy=union(start, end),
        filled=WeightProfile(start[sized], end[sized], blocks[sized], cap=1.0)
        if sized.any()
        else None,
        occupied=WeightProfile(start[estimated], end[estimated], occupancy[estimated])
        if estimated.any()
        else None,
        occupied_count=WeightProfile(start[estimated], end[estimated], ones),
    )


@dataclass(frozen=True, slots=True)
class GpuUse:
    """How one GPU was used in some windows of time; None for what cannot be known.

    Attributes:
        utilization_pct: Share of the time in which at least one kernel ran.
        est_sm_efficiency_pct: Mean over the time of blocks per SM of what ran, at most 1.
        est_achieved_occupancy_pct: Occupancy of the kernels, weighted by their time.
    """

    utilization_pct: float | None
    est_sm_efficiency_pct: float | None
    est_achieved_occupancy_pct: float | None


def gpu_use(profile: GpuProfile, start_ns: Int64, end_ns: Int64) -> GpuUse:
    """The use of a GPU in the disjoint windows ``[start_ns[i], end_ns[i])``."""
    window = int((end_ns - start_ns).sum())
    if window <= 0:
        return GpuUse(None, None, None)
    busy = int(total_within(profile.busy, start_ns, end_ns).sum())
    filled = occupancy = None
    if profile.filled is not None:
        filled = profile.filled.integral_within(start_ns, end_ns) / window * 100
    if profile.occupied is not None:
        weight = profile.occupied_count.integral_within(start_ns, end_ns)
        if weight > 0:
            occupancy = profile.occupied.integral_within(start_ns, end_ns) / weight
    return GpuUse(busy / window * 100, filled, occupancy)


@dataclass(frozen=True, slots=True)
class TensorCoreTime:
    """Kernel time of one GPU by what is known of its Tensor Core use, in ns."""

    used_ns: int
    unused_ns: int
    unknown_ns: int

    @property
    def whole_ns(self) -> int:
        """All kernel time."""
        return self.used_ns + self.unused_ns + self.unknown_ns

    @property
    def used_pct(self) -> float | None:
        """Share of kernel time using Tensor Cores, a lower bound when some is unknown; None
        when nothing is known."""
        return self._of_known(self.used_ns)

    @property
    def unused_pct(self) -> float | None:
        """Share of kernel time known not to use them, likewise."""
        return self._of_known(self.unused_ns)

    @property
    def unknown_pct(self) -> float:
        """Share of kernel time in kernels no rule knows."""
        return self.unknown_ns / self.whole_ns * 100 if self.whole_ns else 0.0

    def _of_known(self, part_ns: int) -> float | None:
        return part_ns / self.whole_ns * 100 if self.whole_ns > self.unknown_ns else None


def tensor_core_time(trace: Trace, gpu: int, mask: Bools) -> TensorCoreTime:
    """Kernel time of ``gpu`` in the rows of ``device_work`` that ``mask`` marks."""
    work = trace.device_work
    kinds = kernel_kinds(trace)
    rows = mask & kinds.is_kernel & (indices(work["device"]) == gpu)
    verdicts = kinds.tensor_core[rows]
    dur = work["dur_ns"].to_numpy()[rows]
    used, unused, unknown = (
        int(dur[verdicts == verdict].sum()) for verdict in (codes.YES, codes.NO, codes.UNKNOWN)
    )
    return TensorCoreTime(used, unused, unknown)
