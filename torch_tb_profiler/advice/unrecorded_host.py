"""The GPU waits for a host of which the recording holds nothing."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.idle_evidence import declared, gap_rows, idle_time, worst_gap
from torch_tb_profiler.analysis.idle.causes import Cause
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "unrecorded_host"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works, and the recording does not tell what the host does, in stretches of 1 ms and
    more, for more than the threshold of the step. Of what the cause is not known no gain is
    estimated."""
    idle = idle_time(context, Cause.UNRECORDED)
    if not context.knows_launches or idle.share_pct <= entry(CODE).threshold:
        return None
    return Finding(
        CODE,
        idle.share_pct,
        None,
        evidence=gap_rows(context, idle.time, EVIDENCE),
        source={"view": "overview", "table": "steps", "sort": "-other_us"},
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
        variant="stacks" if context.trace.python.is_empty() else "default",
    )
