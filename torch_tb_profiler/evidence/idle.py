"""Idle time as evidence: the gaps by the work launched at their end, and the longest gap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import gather, indices_at
from torch_tb_profiler.analysis.algebra.intervals import Intervals, empty, subtract, union_all
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.gaps import gaps
from torch_tb_profiler.analysis.idle.lead_in import lead_in
from torch_tb_profiler.analysis.idle.waits import launches_graphs
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.host_marks import separately_reported
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, Table, TableSpec

MAX_ROWS = 10
COLUMNS = (
    Column(
        "operator",
        "Before",
        "string",
        None,
        "The operator whose work ended the idle time, or the call that launched it.",
    ),
    Column("gaps", "Gaps", "integer", "count", "Number of gaps that ended with it."),
    Column("idle_us", "Idle time", "number", "us", "Length of these gaps, summed.", family="idle"),
    Column("longest_us", "Longest", "number", "us", "The longest of these gaps.", family="idle"),
)
REASONS = {"operator": "The launch of the work that ended these gaps is not recorded."}


def idle_table(code: str) -> TableSpec:
    """The evidence of a finding about idle time."""
    return TableSpec(
        code,
        "Idle gaps",
        "Gaps in which no device worked, by the work launched next; longest idle time first.",
        COLUMNS,
    )


class IdleTime(Struct, frozen=True, eq=False):
    """The idle time of one cause.

    Attributes:
        time: When it was, in the steps.
        per_step_ns: Its mean length per step.
        share_pct: That as share of the mean step.
    """

    time: Intervals
    per_step_ns: float
    share_pct: float


def idle_time(context: Context, cause: IdleCause) -> IdleTime:
    """The idle time of a cause in the steps, without the time of compilation and garbage
    collection, which have separate findings; and of the host's own work without that before the
    first device work, if the host is ahead later."""
    intervals = idle_causes(context.trace).intervals[cause]
    left_out = separately_reported(context.trace)
    if cause in (IdleCause.HOST, IdleCause.PYTHON):
        left_out = union_all(left_out, lead_in(context.trace))
    time = context.within_steps(subtract(intervals, left_out))
    per_step_ns = context.per_step_ns(time)
    return IdleTime(time, per_step_ns, context.share_pct(per_step_ns))


def is_in_long_gaps(context: Context, time: Intervals, limit_us: float) -> bool:
    """Whether most of some idle time is in gaps that hold at least ``limit_us`` of it: few long
    gaps have another cause than many short ones."""
    _, idle_ns = _per_gap(context, time)
    return bool(2 * idle_ns[idle_ns >= limit_us * NS_PER_US].sum() > idle_ns.sum())


def perhaps_busy(context: Context) -> Intervals:
    """Idle time in which graphs may run whose kernels are not recorded: behind their launches, and
    where the host waits for them."""
    causes, is_graph = idle_causes(context.trace).intervals, launches_graphs(context.trace)
    if not is_graph.any():
        return empty()
    blocked = context.within_steps(causes[IdleCause.BLOCKED])
    return union_all(
        behind_graphs(context, context.within_steps(causes[IdleCause.WAITING_WORK])), blocked
    )


def behind_graphs(context: Context, time: Intervals) -> Intervals:
    """The part of some idle time in gaps that end with the work of a graph."""
    every = gaps(context.trace)
    gap = np.searchsorted(every.start_ns, time.start_ns, "right") - 1
    is_graph = gather(launches_graphs(context.trace).astype(np.int64), every.launch[gap]) == 1
    return Intervals(time.start_ns[is_graph], time.end_ns[is_graph])


def idle_finding(
    context: Context,
    spec: TableSpec,
    cause: IdleCause,
    source: Mapping[str, str],
    variant: str = "default",
) -> Finding | None:
    """A finding about idle time without an estimated gain; None up to its threshold.

    Args:
        context: The steps.
        spec: As of :func:`idle_table`.
        cause: The cause.
        source: The rows of a view with more detail.
        variant: Which of the entry's texts.
    """
    idle = idle_time(context, cause)
    if idle.share_pct <= entry(spec.name).threshold:
        return None
    return Finding(
        spec.name,
        idle.share_pct,
        None,
        evidence=gap_table(context, idle.time, spec),
        source=source,
        architecture=context.architecture_name,
        variant=variant,
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
    )


def gap_table(context: Context, time: Intervals, spec: TableSpec) -> Table:
    """Idle time by the work that ended its gaps (``spec`` as of :func:`idle_table`)."""
    gap, idle_ns = _per_gap(context, time)
    launch = gaps(context.trace).launch[gap]
    slices = context.trace.slices
    parent = indices_at(slices["parent"], launch)
    is_range = np.isin(indices_at(slices["category"], parent), (Category.STEP, Category.ANNOTATION))
    named = np.where((parent >= 0) & ~is_range, parent, launch)
    rows = (
        pl.DataFrame({"code": indices_at(slices["name_code"], named), "idle_ns": idle_ns})
        .group_by("code")
        .agg(
            pl.len().alias("gaps"),
            pl.col("idle_ns").sum(),
            pl.col("idle_ns").max().alias("longest_ns"),
        )
        .sort("idle_ns", "code", descending=[True, False])
        .head(MAX_ROWS)
    )
    rows = rows.with_columns(
        operator=context.texts(rows["code"]),
        idle_us=microseconds(rows["idle_ns"]),
        longest_us=microseconds(rows["longest_ns"]),
    )
    return build_table(spec, rows, REASONS)


def worst_gap(context: Context, time: Intervals) -> Spot | None:
    """The gap with most of some idle time, with the call that ended it; None without any."""
    gap, idle_ns = _per_gap(context, time)
    if not len(gap):
        return None
    idle = gaps(context.trace)
    row = int(gap[int(idle_ns.argmax())])
    launch = int(idle.launch[row])
    return context.spot(
        int(idle.start_ns[row]), int(idle.end_ns[row]), launch if launch >= 0 else None
    )


def _per_gap(context: Context, time: Intervals) -> tuple[Int64, Int64]:
    """The rows of the gaps with some idle time, and how much of it each has, ns."""
    idle = gaps(context.trace)
    gap = np.searchsorted(idle.start_ns, time.start_ns, "right") - 1
    length_ns = np.bincount(gap, time.end_ns - time.start_ns, len(idle.start_ns)).astype(np.int64)
    rows = np.flatnonzero(length_ns)
    return rows, length_ns[rows]
