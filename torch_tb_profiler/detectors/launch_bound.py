"""The GPU waits for the host to launch small kernels."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, total, union
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import launches_graphs
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
from torch_tb_profiler.evidence.program import is_compiled
from torch_tb_profiler.evidence.sources import gap_source
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "launch_bound"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works because the host has not launched the next work yet, for more than the
    threshold of the step, the median kernel is small, and most of that time is in short gaps (else
    ``host_bound``).

    The gain is that idle time (cause *the host*, ``docs/metrics.md#idle-devices``).
    """
    small = has_small_kernels(context)
    idle = idle_time(context, IdleCause.HOST)
    known = entry(CODE)
    if not small or idle.share_pct <= known.threshold:
        return None
    if is_in_long_gaps(context, idle.time, known.parameters["long_gap_us"]):
        return None
    return Finding(
        CODE,
        idle.share_pct,
        idle.per_step_ns / NS_PER_US,
        values={"median_us": median_kernel_us(context)},
        evidence=gap_table(context, idle.time, EVIDENCE),
        source=gap_source(context, IdleCause.HOST),
        architecture=context.architecture_name,
        variant=_variant(context, idle.time),
        time=idle.time,
        spot=worst_gap(context, idle.time),
    )


def _variant(context: Context, time: Intervals) -> str:
    slices = context.trace.slices
    launches = slices.filter(pl.Series(launches_graphs(context.trace)))
    if launches.is_empty():
        return "compiled" if is_compiled(context.trace) else "default"
    start = launches["start_ns"].to_numpy()
    inside = intersect(time, union(start, start + launches["dur_ns"].to_numpy()))
    return "graph_calls" if total(inside) * 2 > total(time) else "graphs"
