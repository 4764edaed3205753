"""Launched work does not start, for longer than any GPU needs."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.idle.attribution import WAITING_NS
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import (
    behind_graphs,
    gap_table,
    idle_table,
    idle_time,
    worst_gap,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text

CODE = "waiting_work"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works although the next work has been launched 0.2 ms before or more, for more
    than the threshold of the step (cause *launched work that waits*,
    ``docs/metrics.md#idle-devices``).

    What it waits for is not recorded, so no gain is estimated. Where most of it follows launches of
    graphs, the device may work: not all recorders record every node of a graph.
    """
    idle = idle_time(context, IdleCause.WAITING_WORK)
    if not context.has_launches or idle.share_pct <= entry(CODE).threshold:
        return None
    length_ns = idle.time.end_ns - idle.time.start_ns
    longest = int(length_ns.argmax())
    behind = behind_graphs(context, idle.time)
    call = _host_call(context, int(idle.time.start_ns[longest]), int(idle.time.end_ns[longest]))
    return Finding(
        CODE,
        idle.share_pct,
        None,
        values={
            "limit": duration_text(WAITING_NS / NS_PER_US),
            "gaps": "one gap" if len(length_ns) == 1 else f"{len(length_ns):,} gaps",
            "longest": duration_text(int(length_ns[longest]) / NS_PER_US),
            "meanwhile": f"the host is in {call}" if call else "no single call holds the host",
        },
        evidence=gap_table(context, idle.time, EVIDENCE),
        source={"view": "idle", "table": "gaps", "sort": "-duration_us"},
        architecture=context.architecture_name,
        variant="graphs" if 2 * total(behind) > total(idle.time) else "default",
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
    )


def _host_call(context: Context, start_ns: int, end_ns: int) -> str | None:
    """The runtime call that covers most of an interval, if it covers half of it."""
    trace = context.trace
    calls = trace.slices.filter(
        (pl.col("category") == Category.RUNTIME)
        & (pl.col("start_ns") < end_ns)
        & (pl.col("start_ns") + pl.col("dur_ns") > start_ns)
    )
    start, dur = calls["start_ns"].to_numpy(), calls["dur_ns"].to_numpy()
    covered = np.minimum(start + dur, end_ns) - np.maximum(start, start_ns)
    if not len(covered) or 2 * int(covered.max()) < end_ns - start_ns:
        return None
    return trace.text(calls["name_code"][int(covered.argmax())])
