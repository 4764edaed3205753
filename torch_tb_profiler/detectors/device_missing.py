"""The host launched work, and no device work was recorded."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.host_marks import in_steps
from torch_tb_profiler.evidence.tables import CALLS, TOTAL_US, build_table, sum_calls
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "device_missing"
MAX_ROWS = 10
LAUNCH = "Launch"
"""Part of the names of launch calls, of all runtimes."""
LAUNCHES_WITHOUT_WORK = "launch_without_kernel"
"""The quality count of launches whose work is not in the file."""
EVIDENCE = TableSpec(
    CODE,
    "Launches",
    "One row per launch call, most frequent first.",
    (
        Column("call", "Call", "string", None, "The runtime call."),
        CALLS,
        TOTAL_US,
    ),
)


def detect(context: Context) -> Finding | None:
    """Launches were recorded and no device work at all: all device figures are unknown."""
    trace = context.trace
    launches = trace.quality.counts.get(LAUNCHES_WITHOUT_WORK, 0)
    if not trace.device_work.is_empty() or launches <= entry(CODE).threshold:
        return None
    calls = trace.slices.filter(pl.col("category") == Category.RUNTIME)
    names = calls["name_code"].to_numpy()
    calls = calls.filter(pl.Series(map_names(trace, names, lambda name: LAUNCH in name, np.bool_)))
    calls = in_steps(context, calls)
    rows = sum_calls(calls, "name_code").sort("calls", descending=True, maintain_order=True)
    rows = rows.with_columns(call=context.texts(rows["name_code"])).head(MAX_ROWS)
    first = calls.sort("start_ns").select("start_ns", "dur_ns", "id").head(1).rows()
    return Finding(
        CODE,
        launches,
        None,
        evidence=build_table(EVIDENCE, rows),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        spot=next((context.spot(at, at + dur, slice_id) for at, dur, slice_id in first), None),
        at_stake_us=context.step_ns / NS_PER_US,
    )
