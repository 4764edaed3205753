"""The GPU stands idle between pieces of work that were launched already."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import declared, idle_finding
from torch_tb_profiler.evidence.program import is_compiled

CODE = "device_gaps"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works although the next work was launched, for more than the threshold of the step
    (the part where the host is not late, ``docs/metrics.md#idle-devices``). How much of such time
    fewer kernels would save cannot be told, so no gain is estimated."""
    if not context.knows_launches:
        return None
    variant = "compiled" if is_compiled(context.trace) else "default"
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.KERNEL_TO_KERNEL,
        {"view": "kernels", "table": "kernels", "sort": "-calls"},
        "graphs" if launches_graphs(context.trace).any() else variant,
    )
