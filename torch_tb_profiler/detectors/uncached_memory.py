"""Every tensor is allocated by the driver: torch's caching allocator is disabled."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import (
    enabled_variables,
    named_slice_intervals,
    settings_finding,
    settings_table,
)

CODE = "uncached_memory"
EVIDENCE = settings_table(CODE)
VARIABLES = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")
CALLS = frozenset(
    {"cudaMalloc", "cudaFree", "cudaMallocAsync", "cudaFreeAsync", "hipMalloc", "hipFree"}
)


def detect(context: Context) -> Finding | None:
    """An environment variable disables the caching allocator, and calls that allocate and free
    device memory take more than the threshold of the step."""
    settings = enabled_variables(context, *VARIABLES)
    if not settings:
        return None
    calls_ns = context.per_step_ns(named_slice_intervals(context, CALLS))
    return settings_finding(context, EVIDENCE, dict(settings), calls_ns)
