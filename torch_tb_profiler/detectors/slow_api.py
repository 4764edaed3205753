"""Debugging APIs are on: gradients are checked, or many ranges are recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, empty, union, union_all
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.host_marks import (
    COLUMNS,
    host_marks,
    in_steps,
    lost_time,
    outermost_slices,
    slice_intervals,
)
from torch_tb_profiler.evidence.idle import idle_time
from torch_tb_profiler.evidence.tables import CALLS, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "slow_api"
NODE = "autograd::engine::evaluate_function: "
"""Prefix of the range around one node of a backward pass."""
CHECK = "aten::isnan"
CHECKS = frozenset({CHECK, "aten::any", "aten::_is_any_true", "aten::item", "aten::is_nonzero"})
"""The operators that anomaly detection calls directly in such a range, for each gradient."""
EVIDENCE = TableSpec(
    CODE,
    "Debugging APIs",
    "One row per API in use, longest time first.",
    (
        Column("aid", "API", "string", None, "The API in use."),
        CALLS,
        Column("time_us", "Time", "number", "us", "Its time per step, mean."),
    ),
)
TITLES = {
    "anomaly": "torch.autograd.set_detect_anomaly",
    "gradcheck": "torch.autograd.gradcheck",
    "ranges": "torch.profiler.record_function",
}


class ApiCost(NamedTuple):
    """The cost of one debugging API.

    Attributes:
        variant: Its key in :data:`TITLES`, and the variant of the text.
        calls: Number of calls in the steps.
        per_step_ns: Its time per step, mean.
        time: The time it is about; empty if it is only estimated.
        spot: The interval of the timeline that shows it.
    """

    variant: str
    calls: int
    per_step_ns: float
    time: Intervals
    spot: Spot | None


def detect(context: Context) -> Finding | None:
    """Checks of gradients, or ranges of the program, take more than the threshold of the step.

    The gain is the time of the checks (if device work is recorded, the part in which no device
    works) and the idle time after them. The cost of ranges is assumed, and no gain.
    """
    costs = [_anomaly(context), _gradcheck(context), _ranges(context)]
    costs.sort(key=lambda cost: -cost.per_step_ns)
    worst, known = costs[0], entry(CODE)
    share = context.share_pct(worst.per_step_ns)
    if share <= known.threshold:
        return None
    gain_us = context.per_step_ns(worst.time) / NS_PER_US
    rows = pl.DataFrame(
        {
            "aid": [TITLES[cost.variant] for cost in costs if cost.calls],
            "calls": [cost.calls for cost in costs if cost.calls],
            "time_us": [cost.per_step_ns / NS_PER_US for cost in costs if cost.calls],
        }
    )
    return Finding(
        CODE,
        share,
        gain_us or None,
        values={
            "calls": context.per_step(worst.calls),
            "limit": known.parameters["min_ranges_pct"],
        },
        evidence=build_table(EVIDENCE, rows),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=worst.variant,
        time=worst.time if len(worst.time.start_ns) else None,
        spot=worst.spot,
        at_stake_us=worst.per_step_ns / NS_PER_US,
    )


def _anomaly(context: Context) -> ApiCost:
    checks = in_steps(context, _nan_checks(context.trace))
    if checks.is_empty():
        return ApiCost("anomaly", 0, 0.0, empty(), None)
    by_node = checks.group_by("parent").agg(
        pl.col("start_ns").min(), (pl.col("start_ns") + pl.col("dur_ns")).max().alias("end_ns")
    )
    spans = union(by_node["start_ns"].to_numpy(), by_node["end_ns"].to_numpy())
    idle = idle_causes(context.trace)
    wait_start = idle.waits["start_ns"].to_numpy()
    row = np.searchsorted(spans.start_ns, wait_start, "right") - 1
    inside = (row >= 0) & (wait_start < np.append(spans.end_ns, 0)[row])
    time = union_all(lost_time(context.trace, spans), idle.wait_costs.caused_by(inside))
    return _cost(context, "anomaly", checks, spans, time)


def _gradcheck(context: Context) -> ApiCost:
    checks = in_steps(context, outermost_slices(host_marks(context.trace)["gradcheck"]))
    if checks.is_empty():
        return ApiCost("gradcheck", 0, 0.0, empty(), None)
    spans = slice_intervals(checks)
    return _cost(context, "gradcheck", checks, spans, lost_time(context.trace, spans))


def _ranges(context: Context) -> ApiCost:
    start = _range_starts(context.trace)
    count = int(context.inside(start).sum())
    cost_ns = context.per_step(count * entry(CODE).parameters["assumed_range_us"] * NS_PER_US)
    if not context.trace.device_work.is_empty():  # if the host is early, they cost nothing
        cost_ns = min(cost_ns, idle_time(context, IdleCause.HOST).per_step_ns)
    if context.share_pct(cost_ns) <= entry(CODE).parameters["min_ranges_pct"]:
        return ApiCost("ranges", 0, 0.0, empty(), None)
    spot = context.spot(context.windows.start_ns[0], context.windows.end_ns[0])
    return ApiCost("ranges", count, cost_ns, empty(), spot)


def _cost(
    context: Context, variant: str, checks: pl.DataFrame, spans: Intervals, time: Intervals
) -> ApiCost:
    """The cost of checks: their time, or the idle time they cause if device work is recorded."""
    has_devices = not context.trace.device_work.is_empty()
    cost_ns = context.per_step_ns(time if has_devices else spans)
    longest = checks.row(int(checks["dur_ns"].to_numpy().argmax()), named=True)
    start_ns = longest["start_ns"]
    spot = context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"])
    return ApiCost(variant, checks.height, cost_ns, context.within_steps(time), spot)


@per_trace
def _nan_checks(trace: Trace) -> pl.DataFrame:
    """The operators with which anomaly detection checks gradients."""
    slices = trace.slices
    is_wanted = codes.map_names(
        trace, slices["name_code"].to_numpy(), lambda name: name in CHECKS, np.bool_
    )
    checks = slices.select(COLUMNS).filter(pl.Series(is_wanted))
    is_check = codes.map_names(
        trace, checks["name_code"].to_numpy(), lambda name: name == CHECK, np.bool_
    )
    parent = indices(checks["parent"])
    parent_names = slices["name_code"].to_numpy()[np.maximum(parent, 0)]
    in_node = (parent >= 0) & codes.map_names(
        trace, parent_names, lambda name: name.startswith(NODE), np.bool_
    )
    return checks.filter(pl.Series(in_node & np.isin(parent, parent[in_node & is_check])))


@per_trace
def _range_starts(trace: Trace) -> Int64:
    """The start times of the ranges of the program, in ns."""
    ranges = trace.slices.filter(pl.col("category") == Category.ANNOTATION)
    starts: Int64 = ranges["start_ns"].to_numpy()
    return starts
