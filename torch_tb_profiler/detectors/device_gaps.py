"""The GPU is idle although the next work has been launched already."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_finding, idle_table
from torch_tb_profiler.evidence.program import is_compiled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text

CODE = "device_gaps"
EVIDENCE = idle_table(CODE)


def detect(context: Context) -> Finding | None:
    """No device works although the next work has been launched, for more than the threshold of the
    step (``docs/metrics.md#idle-devices``). What fewer kernels would save is unknown, so no gain is
    estimated."""
    if not context.has_launches:
        return None
    variant = "compiled" if is_compiled(context.trace) else "default"
    finding = idle_finding(
        context,
        EVIDENCE,
        IdleCause.KERNEL_TO_KERNEL,
        {"view": "kernels", "table": "kernels", "sort": "-calls"},
        "graphs" if launches_graphs(context.trace).any() else variant,
    )
    return None if finding is None else _in_long_gaps(context, finding)


def _in_long_gaps(context: Context, finding: Finding) -> Finding:
    """The finding, with the text about long gaps if most of its time is in them."""
    time = finding.time
    assert time is not None
    length_ns = time.end_ns - time.start_ns
    limit_us = entry(CODE).parameters["long_gap_us"]
    long_ns = length_ns[length_ns >= limit_us * NS_PER_US]
    if 2 * int(long_ns.sum()) <= int(length_ns.sum()):
        return finding
    longest = int(length_ns.argmax())
    name = _host_call(context, int(time.start_ns[longest]), int(time.end_ns[longest]))
    values = {
        "limit": duration_text(limit_us),
        "gaps": "one gap" if len(long_ns) == 1 else f"{len(long_ns):,} gaps",
        "longest": duration_text(int(length_ns[longest]) / NS_PER_US),
        "meanwhile": f"the host is in {name}" if name else "no single call holds the host",
    }
    return replace(finding, variant="long", values=values, source={"view": "idle", "table": "gaps"})


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
