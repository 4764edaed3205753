"""The GPU waits for the host, although launching its kernels does not take that long."""

from __future__ import annotations

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import (
    gap_table,
    idle_table,
    idle_time,
    is_in_long_gaps,
    worst_gap,
)
from torch_tb_profiler.evidence.kernel_time import has_small_kernels, median_kernel_us
from torch_tb_profiler.evidence.sources import gap_source
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text

CODE = "host_bound"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """Like ``launch_bound``, but the median kernel is not small, or most of the time is in gaps of
    1 ms or more: it goes to the host's own work, not to launches."""
    idle = idle_time(context, IdleCause.HOST)
    has_small = has_small_kernels(context)
    if has_small is None or idle.share_pct <= entry(CODE).threshold:
        return None
    limit_us = entry("launch_bound").parameters["long_gap_us"]
    if has_small and not is_in_long_gaps(context, idle.time, limit_us):
        return None
    evidence = gap_table(context, idle.time, EVIDENCE)
    return Finding(
        CODE,
        idle.share_pct,
        idle.per_step_ns / NS_PER_US,
        values={
            "median_us": median_kernel_us(context),
            "limit": duration_text(limit_us),
            "operator": evidence.frame["operator"][0] or "the next work",
        },
        evidence=evidence,
        source=gap_source(context, IdleCause.HOST),
        architecture=context.architecture_name,
        variant="long" if has_small else "default",
        time=idle.time,
        spot=worst_gap(context, idle.time),
    )
