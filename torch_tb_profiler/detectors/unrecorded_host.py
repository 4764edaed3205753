"""The GPU waits for a host of which the recording holds nothing."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import declared, idle_finding

CODE = "unrecorded_host"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works, and the recording does not tell what the host does, in stretches of 1 ms and
    more, for more than the threshold of the step. Of what the cause is not known no gain is
    estimated."""
    if not context.knows_launches:
        return None
    return idle_finding(
        context,
        EVIDENCE,
        IdleCause.UNRECORDED,
        {"view": "overview", "table": "steps", "sort": "-other_us"},
        "stacks" if context.trace.python.is_empty() else "default",
    )
