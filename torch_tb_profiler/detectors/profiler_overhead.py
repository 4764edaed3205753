"""The GPU is idle while the profiler itself works."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table

CODE = "profiler_overhead"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works during the overhead of the profiler, for more than the threshold of the step.
    A run without the profiler does not have that time, so there is no gain."""
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.PROFILER,
        {"view": "overview", "table": "steps", "sort": "-total_us"},
    )
