"""Each tensor is taken from the driver: torch's cache of device memory is off."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import (
    settings_finding,
    settings_table,
    switched_on,
    time_in,
)

CODE = "uncached_memory"
EVIDENCE = settings_table(CODE)
VARIABLES = ("PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING")
CALLS = frozenset(
    {"cudaMalloc", "cudaFree", "cudaMallocAsync", "cudaFreeAsync", "hipMalloc", "hipFree"}
)


def detect(context: Context) -> Finding | None:
    """A variable turns the cache off, and calls that take and give back device memory take more
    than the threshold of the step."""
    settings = switched_on(context, *VARIABLES)
    if not settings:
        return None
    taken_ns = context.in_steps_ns(time_in(context, CALLS))
    return settings_finding(context, EVIDENCE, dict(settings), taken_ns)
