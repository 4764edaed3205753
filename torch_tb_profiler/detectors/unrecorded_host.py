"""The GPU is idle, and the recording does not show what the host does."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table

CODE = "unrecorded_host"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works and the recording does not show what the host does, in intervals of 1 ms and
    more, for more than the threshold of the step. The cause is unknown, so no gain is estimated."""
    if not context.has_launches:
        return None
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.UNRECORDED,
        {"view": "overview", "table": "steps", "sort": "-other_us"},
        "stacks" if context.trace.python.is_empty() else "default",
    )
