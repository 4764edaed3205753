"""The GPU waits while the profiler itself works."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.idle_evidence import declared, gap_rows, idle_time, worst_gap
from torch_tb_profiler.analysis.idle.causes import Cause
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "profiler_overhead"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """No device works in the profiler's own overhead, for more than the threshold of the step. A
    run without the profiler does not have that time, so nothing can be gained."""
    idle = idle_time(context, Cause.PROFILER)
    if idle.share_pct <= entry(CODE).threshold:
        return None
    return Finding(
        CODE,
        idle.share_pct,
        None,
        evidence=gap_rows(context, idle.time, EVIDENCE),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
    )
