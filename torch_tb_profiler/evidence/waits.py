"""Host calls that wait, as evidence: their callers, and the time they cost."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, total_within, union
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.analysis.idle.waits import Wait
from torch_tb_profiler.analysis.operators.call_stacks import frames_around
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.evidence.sources import operator_source
from torch_tb_profiler.evidence.tables import CALLS, build_table
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.schema import Column, Table, TableSpec

OUTSIDE = "(no operator)"
MAX_ROWS = 10
_INSTALLED = re.compile(r"(^|[\\/])(site-packages|dist-packages|torch)[\\/]")
NO_FUNCTION = "No Python function was recorded around these calls."


WAIT_COLUMNS = (
    Column(
        "operator",
        "Caller",
        "string",
        None,
        "The operator that made the call, or the Python function, or the call itself.",
    ),
    Column("call", "Call", "string", None, "The call that waits."),
    Column("frame", "Python function", "string", None, "The innermost Python function around it."),
    CALLS,
    Column(
        "waited_us",
        "Waited",
        "number",
        "us",
        "Time the host waited, summed.",
        family="wait",
    ),
)


def wait_table(code: str, title: str, idle_help: str) -> TableSpec:
    """The evidence table of a finding about calls that wait.

    Args:
        code: The code of the finding.
        title: Title of the table.
        idle_help: Help of the column of idle time.
    """
    return TableSpec(
        code,
        title,
        "One row per caller and call, longest idle time first.",
        (*WAIT_COLUMNS, Column("idle_us", "Idle", "number", "us", idle_help, family="wait")),
    )


def wait_table_without_idle(code: str, title: str) -> TableSpec:
    """The evidence table of a finding about calls that wait while a device works."""
    return TableSpec(code, title, "One row per caller and call, longest wait first.", WAIT_COLUMNS)


class WaitGroups(Struct, frozen=True, eq=False):
    """Calls that wait and cost idle time.

    Attributes:
        calls: Number of calls.
        operator: Caller in the row with most idle time.
        call: Call in that row.
        where: Both as a clause of a sentence, with the Python line if it is recorded.
        fetches: Whether most of the time goes to fetching values.
        table: The rows.
        source: The rows of a view with more detail.
        worst: The call with most idle time.
    """

    calls: int
    operator: str
    call: str
    where: str
    fetches: bool
    table: Table
    source: dict[str, str]
    worst: Spot


class BlockedTime(Struct, frozen=True, eq=False):
    """Idle time in calls that wait although no device works.

    Attributes:
        time: When it was, in the steps.
        per_step_ns: Its mean length per step.
        share_pct: That as share of the mean step.
        per_wait_ns: Its length per row of the table of waits; 0 for waits that are not chosen.
    """

    time: Intervals
    per_step_ns: float
    share_pct: float
    per_wait_ns: Int64


def blocked_time(context: Context, chosen: Bools) -> BlockedTime:
    """The idle time in chosen waits (a mask over the table of waits)."""
    idle = idle_causes(context.trace)
    start, end = (idle.waits[key].to_numpy() for key in ("start_ns", "end_ns"))
    blocked = intersect(idle.intervals[IdleCause.BLOCKED], union(start[chosen], end[chosen]))
    time = context.within_steps(blocked)
    idle_ns = context.per_step_ns(time)
    per_wait = np.where(chosen, total_within(time, start, end), 0)
    return BlockedTime(time, idle_ns, context.share_pct(idle_ns), per_wait)


def group_waits(
    context: Context,
    spec: TableSpec,
    waits: pl.DataFrame,
    idle_ns: Int64,
    *,
    idle_follows: bool = False,
) -> WaitGroups:
    """Group waiting calls by caller.

    Args:
        context: The context of their trace.
        spec: As of :func:`wait_table`.
        waits: Rows of the table of waits.
        idle_ns: Idle time of each in the steps; at least one is above 0.
        idle_follows: Whether the idle time comes after the calls, not during them.
    """
    rows = np.flatnonzero(idle_ns > 0)
    waits, idle_ns = waits[rows], idle_ns[rows]
    groups = _groups(context, waits, idle_ns)
    worst = waits.row(int(idle_ns.argmax()), named=True)
    operator, call = groups["operator"][0], groups["call"][0]
    idle_until = worst["end_ns"] + (int(idle_ns.max()) if idle_follows else 0)
    fetched = int(idle_ns[(waits["wait"] == Wait.FETCH).to_numpy()].sum())
    return WaitGroups(
        waits.height,
        operator,
        call,
        _where(context, operator, call, int(worst["id"])),
        fetched * 2 > int(idle_ns.sum()),
        build_table(
            spec,
            groups.head(MAX_ROWS),
            {"frame": missing_reason(context.trace, "python", NO_FUNCTION)},
        ),
        operator_source(context, groups["owner"][0])
        # Calls outside operators are in no table; their time is part of the runtime of the steps.
        or {"view": "overview", "table": "steps", "sort": "-runtime_us"},
        context.spot(
            worst["start_ns"], min(idle_until, context.trace.meta.end_ns), int(worst["id"])
        ),
    )


def _where(context: Context, operator: str, call: str, slice_id: int) -> str:
    text = call if operator == call else f"{call} in {operator}"
    lines = [frame for frame in frames_around(context.trace, slice_id) if frame.jumpable]
    own = [frame for frame in lines if not _INSTALLED.search(frame.file or "")]
    line = (own or lines)[0].text if lines else operator
    return text if line == operator else f"{text}, from {line}"


def _groups(context: Context, waits: pl.DataFrame, idle_ns: Int64) -> pl.DataFrame:
    """Calls by the operator that made them (``owner``, a name code, -1 for none), longest idle time
    first."""
    names = indices(context.trace.slices["name_code"])
    groups = (
        waits.select(
            "name_code",
            dur_ns=pl.col("end_ns") - pl.col("start_ns"),
            owner=pl.Series(context.caller_codes(waits)),
            frame_code=pl.Series(gather(names, indices(waits["frame"]))),
            idle_ns=pl.Series(idle_ns),
        )
        .group_by("owner", "name_code", "frame_code")
        .agg(pl.len().alias("calls"), pl.col("dur_ns", "idle_ns").sum())
        .sort("idle_ns", "calls", "owner", descending=[True, True, False])
    )
    callers = [
        _caller(*(context.trace.text(code) for code in codes))
        for codes in groups.select("owner", "frame_code", "name_code").iter_rows()
    ]
    return groups.with_columns(
        operator=pl.Series(callers, dtype=pl.String),
        call=context.texts(groups["name_code"]),
        frame=context.texts(groups["frame_code"]),
        waited_us=microseconds(groups["dur_ns"]),
        idle_us=microseconds(groups["idle_ns"]),
    )


def _caller(owner: str | None, frame: str | None, call: str | None) -> str:
    """The caller: the operator, or the Python function, or the call itself."""
    return owner or frame or call or OUTSIDE
