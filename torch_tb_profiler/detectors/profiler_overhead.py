"""The GPU waits while the profiler itself works."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import declared, idle_finding

CODE = "profiler_overhead"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works in the profiler's own overhead, for more than the threshold of the step. A
    run without the profiler does not have that time, so nothing can be gained."""
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.PROFILER,
        {"view": "overview", "table": "steps", "sort": "-total_us"},
    )
