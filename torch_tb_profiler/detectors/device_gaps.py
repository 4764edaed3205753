"""The GPU is idle between pieces of work that have been launched already."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table
from torch_tb_profiler.evidence.program import is_compiled

CODE = "device_gaps"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works between pieces of launched work, for less than 0.2 ms each, and for more
    than the threshold of the step (``docs/metrics.md#idle-devices``). What fewer kernels would save
    is unknown, so no gain is estimated."""
    if not context.has_launches:
        return None
    variant = "compiled" if is_compiled(context.trace) else "default"
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.KERNEL_TO_KERNEL,
        {"view": "kernels", "table": "kernels", "sort": "-calls"},
        "graphs" if launches_graphs(context.trace).any() else variant,
    )
