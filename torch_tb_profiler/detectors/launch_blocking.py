"""Every launch waits for its kernel: a debugging setting was left on."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.gaps import busy
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import enabled_variables, settings_finding, settings_table

CODE = "launch_blocking"
EVIDENCE = settings_table(CODE)
VARIABLES = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")


def detect(context: Context) -> Finding | None:
    """An environment variable makes launches synchronous, and no device works for more than the
    threshold of the step; not if kernels are so long that the host is early anyway."""
    settings = enabled_variables(context, *VARIABLES)
    if not settings:
        return None
    idle_ns = context.step_ns - context.per_step_ns(busy(context.trace))
    return settings_finding(context, EVIDENCE, dict(settings), idle_ns)
