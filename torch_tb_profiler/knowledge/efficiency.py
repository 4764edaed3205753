"""When work is bound by latency, by the thresholds of ``efficiency.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class EfficiencyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``efficiency.toml``.

    Attributes:
        latency_kernel_us: Kernels that take less on average are short.
        latency_work_us: Kernels whose work takes less at the roof have too little to do.
        latency_roof_pct: Short kernels below this share of their roof, and those with too little to
            do, are bound by latency.
        fewer_operations_kernels: Found in names of kernels that compute a convolution with fewer
            operations than its definition has.
    """

    latency_kernel_us: float
    latency_work_us: float
    latency_roof_pct: float
    fewer_operations_kernels: str


@once
def efficiency_file() -> EfficiencyFile:
    """The thresholds as they stand in the file."""
    return load("efficiency.toml", EfficiencyFile)
