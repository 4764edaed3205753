"""Thresholds for latency-bound kernels: ``efficiency.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class EfficiencyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``efficiency.toml``.

    Attributes:
        latency_kernel_us: Kernels that take less on average are short.
        latency_work_us: Kernels with less time at the roofline limit have too little work.
        latency_roof_pct: Short kernels below this share of their roofline limit, and those with too
            little work, are latency-bound.
        max_uncounted_pct: MFU is a value if at most this share of the kernel time may be products
            without known FLOPs.
        product_kinds: Kinds of kernels that are products of a model.
        fewer_operations_kernels: Part of the names of kernels that compute a convolution with fewer
            operations than its definition.
    """

    latency_kernel_us: float
    latency_work_us: float
    latency_roof_pct: float
    max_uncounted_pct: float
    product_kinds: tuple[str, ...]
    fewer_operations_kernels: str


@once
def efficiency_file() -> EfficiencyFile:
    """The thresholds of the file."""
    return load("efficiency.toml", EfficiencyFile)
