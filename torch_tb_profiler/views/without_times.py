"""Views of recordings without times: what is counted stays, every time is null with the reason.

An execution trace holds operators in their order; where a view would divide or sum durations there
is nothing to sum. Views that make sense without times say so (``ViewSpec.needs_times``).
"""

from __future__ import annotations

import re

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.missing_reasons import recorded_reason
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Fact, Table, Unit, View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.sums_alone import no_moments, unavailable

TIME_UNITS: tuple[Unit, ...] = ("us", "ns", "gb_per_s", "per_s")

_OF_TIMES = re.compile(r"(?:^|_)(?:us|ns|per_s)$|^(?:slower|bound)$")
"""Keys of values that follow from durations, whatever their unit."""

_COUNTED = re.compile(r"flops|count|shape")
"""Keys of percentages that do not follow from durations."""

_TIME_TEXT = re.compile(r"\d\s?(?:ns|µs|ms|s)\b")
"""A time in a text."""

_ELSEWHERE = (
    "Operators, their shapes and their FLOPs are in the views operators, shapes and efficiency."
)

_CALLS, _WORK = "calls", "flops"


def no_times(trace: Trace) -> str | None:
    """Why the recording has no times; None where it has."""
    return recorded_reason(trace, "times")


def no_timeline(trace: Trace) -> str | None:
    """Why a recording cannot be drawn over time; None where it can."""
    return no_times(trace) or no_moments(trace)


def missing_of(spec: ViewSpec, trace: Trace) -> str | None:
    """Why a view has nothing to show of a trace; None where it has."""
    reason = no_times(trace) if spec.needs_times else None
    return reason or unavailable(spec, trace) or spec.missing(trace)


def check_time_range(trace: Trace, selection: Selection) -> None:
    """Refuse a range of time in a recording without times, or with sums alone.

    Raises:
        SelectionError: a range is selected, and there are no times.
    """
    reason = no_timeline(trace)
    if reason is not None and (selection.start_ns, selection.end_ns) != (None, None):
        raise SelectionError(f"start_us, end_us: {reason}")


def without_times(trace: Trace, view: View) -> View:
    """``view`` without any time where the recording has none; else unchanged."""
    reason = no_times(trace)
    if reason is None:
        return view
    return replace(
        view,
        tables={name: _table(table, reason) for name, table in view.tables.items()},
        series={},
        facts=tuple(_fact(fact, reason) for fact in view.facts),
        answer=_answer(view, reason),
    )


def _is_time(key: str, unit: Unit | None) -> bool:
    is_share = unit == "pct" and _COUNTED.search(key) is None
    return unit in TIME_UNITS or is_share or _OF_TIMES.search(key) is not None


def _table(table: Table, reason: str) -> Table:
    spec = table.spec
    times = [column for column in spec.columns if _is_time(column.key, column.unit)]
    frame = table.frame.with_columns(
        pl.lit(None, table.frame.schema[column.key]).alias(column.key) for column in times
    )
    columns = tuple(_untimed(column) if column in times else column for column in spec.columns)
    names = [column.key for column in columns if column.type == "string"][:1]
    has_calls = any(column.key == _CALLS for column in columns)
    sort = ",".join(([f"-{_CALLS}"] if has_calls else []) + names)
    when_empty = reason if times else spec.when_empty
    reasons = {key: text for key, text in table.null_reasons.items() if key in frame.columns}
    return in_default_order(
        replace(
            table,
            spec=replace(spec, columns=columns, sort=sort, when_empty=when_empty),
            frame=frame,
            null_reasons=reasons | {column.key: reason for column in times},
            all_rows=None,
        )
    )


def _untimed(column: Column) -> Column:
    return replace(column, hidden=True)


def _fact(fact: Fact, reason: str) -> Fact:
    names_time = isinstance(fact.value, str) and _TIME_TEXT.search(fact.value) is not None
    if not names_time and not _is_time(fact.key, fact.unit):
        return fact
    return replace(fact, value=None, reason=reason)


def _answer(view: View, reason: str) -> str:
    values = {fact.key: fact.value for fact in view.facts}
    operators, calls = (values.get(key) for key in ("operator_count", "operator_calls"))
    if isinstance(operators, int) and isinstance(calls, int):
        return f"{operators:,} operators were called {calls:,} times. {reason}"
    has_work = any(_WORK in table.frame.columns for table in view.tables.values())
    return reason if has_work else f"{reason} {_ELSEWHERE}"
