"""Aids for debugging are on: gradients are checked, many ranges are recorded."""

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
    in_steps,
    lost_in,
    marks,
    outermost,
    time_of,
)
from torch_tb_profiler.evidence.idle import idle_time
from torch_tb_profiler.evidence.tables import CALLS, filled
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "slow_api"
NODE = "autograd::engine::evaluate_function: "
"""Start of the name of what runs one node of a backward pass."""
CHECK = "aten::isnan"
CHECKS = frozenset({CHECK, "aten::any", "aten::_is_any_true", "aten::item", "aten::is_nonzero"})
"""What anomaly detection calls right inside of it, of each gradient."""
EVIDENCE = TableSpec(
    CODE,
    "Aids for debugging",
    "One row per aid that was seen, the one with most time first.",
    (
        Column("aid", "Aid", "string", None, "What is on."),
        CALLS,
        Column("time_us", "Time", "number", "us", "What it takes of a mean step."),
    ),
)
TITLES = {
    "anomaly": "torch.autograd.set_detect_anomaly",
    "gradcheck": "torch.autograd.gradcheck",
    "ranges": "torch.profiler.record_function",
}


class Aid(NamedTuple):
    """What one aid takes.

    Attributes:
        variant: Its key in :data:`TITLES`, and the text that tells of it.
        calls: How often it was seen in the steps.
        per_step_ns: What it takes of a mean step.
        time: When; empty where that is only estimated.
        spot: Where to look.
    """

    variant: str
    calls: int
    per_step_ns: float
    time: Intervals
    spot: Spot | None


def detect(context: Context) -> Finding | None:
    """Checks of gradients, or ranges of the program, take more than the threshold of the step.

    The gain is the time of the checks and in which no device has work after them, where devices
    work of the former what no device works meanwhile; of ranges their cost is only assumed.
    """
    aids = [_anomaly(context), _gradcheck(context), _ranges(context)]
    aids.sort(key=lambda aid: -aid.per_step_ns)
    worst, known = aids[0], entry(CODE)
    share = context.share_pct(worst.per_step_ns)
    if share <= known.threshold:
        return None
    gain_us = context.in_steps_ns(worst.time) / NS_PER_US
    rows = pl.DataFrame(
        {
            "aid": [TITLES[aid.variant] for aid in aids if aid.calls],
            "calls": [aid.calls for aid in aids if aid.calls],
            "time_us": [aid.per_step_ns / NS_PER_US for aid in aids if aid.calls],
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
        evidence=filled(EVIDENCE, rows),
        source={"view": "overview", "table": "steps", "sort": "-total_us"},
        variant=worst.variant,
        time=worst.time if len(worst.time.start_ns) else None,
        spot=worst.spot,
        at_stake_us=worst.per_step_ns / NS_PER_US,
    )


def _anomaly(context: Context) -> Aid:
    checks = in_steps(context, _nan_checks(context.trace))
    if checks.is_empty():
        return Aid("anomaly", 0, 0.0, empty(), None)
    of_node = checks.group_by("parent").agg(
        pl.col("start_ns").min(), (pl.col("start_ns") + pl.col("dur_ns")).max().alias("end_ns")
    )
    spans = union(of_node["start_ns"].to_numpy(), of_node["end_ns"].to_numpy())
    idle = idle_causes(context.trace)
    begun = idle.waits["start_ns"].to_numpy()
    row = np.searchsorted(spans.start_ns, begun, "right") - 1
    inside = (row >= 0) & (begun < np.append(spans.end_ns, 0)[row])
    time = union_all(lost_in(context.trace, spans), idle.wait_costs.caused_by(inside))
    return _aid(context, "anomaly", checks, spans, time)


def _gradcheck(context: Context) -> Aid:
    checks = in_steps(context, outermost(marks(context.trace)["gradcheck"]))
    if checks.is_empty():
        return Aid("gradcheck", 0, 0.0, empty(), None)
    spans = time_of(checks)
    return _aid(context, "gradcheck", checks, spans, lost_in(context.trace, spans))


def _ranges(context: Context) -> Aid:
    start = _range_starts(context.trace)
    count = int(context.inside(start).sum())
    cost_ns = context.per_step(count * entry(CODE).parameters["assumed_range_us"] * NS_PER_US)
    if not context.trace.device_work.is_empty():  # where the host is early, they cost nothing
        cost_ns = min(cost_ns, idle_time(context, IdleCause.HOST).per_step_ns)
    if context.share_pct(cost_ns) <= entry(CODE).parameters["min_ranges_pct"]:
        return Aid("ranges", 0, 0.0, empty(), None)
    where = context.spot(context.windows.start_ns[0], context.windows.end_ns[0])
    return Aid("ranges", count, cost_ns, empty(), where)


def _aid(
    context: Context, variant: str, checks: pl.DataFrame, spans: Intervals, time: Intervals
) -> Aid:
    """What some slices take: where devices work what no device works because of them."""
    is_alone = context.trace.device_work.is_empty()
    taken = context.in_steps_ns(spans if is_alone else time)
    longest = checks.row(int(checks["dur_ns"].to_numpy().argmax()), named=True)
    start_ns = longest["start_ns"]
    where = context.spot(start_ns, start_ns + longest["dur_ns"], longest["id"])
    return Aid(variant, checks.height, taken, context.within_steps(time), where)


@per_trace
def _nan_checks(trace: Trace) -> pl.DataFrame:
    """The operators by which anomaly detection looks at gradients."""
    slices = trace.slices
    wanted = codes.map_names(
        trace, slices["name_code"].to_numpy(), lambda name: name in CHECKS, np.bool_
    )
    found = slices.select(COLUMNS).filter(pl.Series(wanted))
    is_check = codes.map_names(
        trace, found["name_code"].to_numpy(), lambda name: name == CHECK, np.bool_
    )
    parent = indices(found["parent"])
    of_parent = slices["name_code"].to_numpy()[np.maximum(parent, 0)]
    in_node = (parent >= 0) & codes.map_names(
        trace, of_parent, lambda name: name.startswith(NODE), np.bool_
    )
    return found.filter(pl.Series(in_node & np.isin(parent, parent[in_node & is_check])))


@per_trace
def _range_starts(trace: Trace) -> Int64:
    """When the ranges of the program began."""
    ranges = trace.slices.filter(pl.col("category") == Category.ANNOTATION)
    starts: Int64 = ranges["start_ns"].to_numpy()
    return starts
