"""The GPU is idle during single long runtime calls: loading of code, allocation."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, total_within
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import long_calls
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_time
from torch_tb_profiler.evidence.tables import CALLS, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "long_calls"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Long calls",
    "One row per call and its operator, longest idle time first.",
    (
        Column("call", "Call", "string", None, "The runtime or driver call."),
        Column("operator", "Operator", "string", None, "The operator that made the call."),
        CALLS,
        Column(
            "idle_us", "Idle time", "number", "us", "Idle time of the devices during the calls."
        ),
    ),
)
REASONS = {"operator": "No operator was recorded around these calls."}


def detect(context: Context) -> Finding | None:
    """No device works during single runtime calls of 0.1 ms and more, for more than the threshold
    of the step: warm-up, if few steps have such calls.

    The gain is that idle time.
    """
    idle = idle_time(context, IdleCause.LONG_CALL)
    if idle.share_pct <= entry(CODE).threshold:
        return None
    calls, steps = _calls(context, idle.time)
    longest = calls.row(0, named=True)
    return Finding(
        CODE,
        idle.share_pct,
        idle.per_step_ns / NS_PER_US,
        values={"calls": int(calls["calls"].sum()), "call": longest["call"], "steps": steps},
        evidence=build_table(EVIDENCE, calls.head(MAX_ROWS), REASONS),
        source={"view": "overview", "table": "steps", "sort": "-runtime_us"},
        time=idle.time,
        spot=context.spot(longest["start_ns"], longest["end_ns"], longest["id"]),
        variant="always" if 1 < context.step_count == steps else "default",
    )


def _calls(context: Context, time: Intervals) -> tuple[pl.DataFrame, int]:
    """The calls by name and operator, with the longest call of each row in ``id``, ``start_ns`` and
    ``end_ns``; and the number of steps with any call."""
    long = long_calls(context.trace)
    start = long["start_ns"].to_numpy()
    idle_ns = total_within(time, start, start + long["dur_ns"].to_numpy())
    windows = context.windows
    per_step = total_within(time, windows.start_ns, windows.end_ns)
    groups = (
        long.select(
            "id",
            "name_code",
            "start_ns",
            end_ns=pl.col("start_ns") + pl.col("dur_ns"),
            owner=pl.Series(context.caller_codes(long)),
            idle_ns=pl.Series(idle_ns),
        )
        .filter(pl.col("idle_ns") > 0)
        .sort("idle_ns", descending=True)
        .group_by("name_code", "owner", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            pl.col("idle_ns").sum(),
            pl.col("id", "start_ns", "end_ns").first(),
        )
        .sort("idle_ns", descending=True, maintain_order=True)
    )
    groups = groups.with_columns(
        call=context.texts(groups["name_code"]),
        operator=context.texts(groups["owner"]),
        idle_us=microseconds(groups["idle_ns"]),
    )
    return groups, int(np.count_nonzero(per_step))
