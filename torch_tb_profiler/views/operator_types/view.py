"""Operator types: which kinds of work the time goes to.

Definitions: ``docs/metrics.md#operator-types``.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.operators.by_type import operators_by_type, unassociated_work
from torch_tb_profiler.analysis.operators.calls import no_operators
from torch_tb_profiler.analysis.operators.times import NO_RUNTIME, has_runtime
from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.knowledge.operator_types import TYPES
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.operator_types.answer import answer
from torch_tb_profiler.views.operator_types.columns import (
    NO_CALL,
    NO_HOST_CALL,
    NO_KERNEL_RULE,
    NO_RULE,
    NO_WHOLE,
    OPERATOR_TYPES,
    UNKNOWN_TYPE,
)
from torch_tb_profiler.views.operator_types.recorded import (
    RECORDED_TYPES,
    recorded_facts,
    recorded_types,
)
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.recorded import recorded_frame, recorded_notes
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.shares import of_whole
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.time_columns import time_keys, times_in_microseconds

_OF_DEVICE = (*time_keys("gpu"), *time_keys("gpu_idle"), "tensor_core_used")
_OVERHEAD = time_keys("cpu_overhead")


def operator_types(trace: Trace, selection: Selection) -> View:
    """The types of operators in a selection, and those that a file of the recording sums.

    Raises:
        SelectionError: steps make no sense for this trace.
    """
    recorded = recorded_types(trace)
    if recorded is None:
        return _computed(trace, selection)
    tables = {RECORDED_TYPES.name: recorded}
    notes = recorded_notes(tables, selection)
    if no_operators(trace) is not None:
        selected_steps(trace, selection)
        return View(tables=tables, facts=recorded_facts(recorded), notes=notes)
    own = _computed(trace, selection)
    return View(own.tables | tables, own.series, own.facts, own.notes + notes)


def _computed(trace: Trace, selection: Selection) -> View:
    if selection.is_everything:
        return _WHOLE(trace)
    return _operator_types(trace, selection)


def _operator_types(trace: Trace, selection: Selection) -> View:
    groups, outside = operators_by_type(trace, selection), unassociated_work(trace, selection)
    whole = int(groups["device_self_ns"].sum()) + int(outside["device_self_ns"].sum())
    of_host = no_device_time(trace) is not None or not whole
    key = "host_self_ns" if of_host else "device_self_ns"
    if of_host:
        whole = int(groups["host_self_ns"].sum())
        outside = outside.with_columns(host_self_ns=pl.lit(0, pl.Int64))
    frame = pl.concat(
        (
            _rows(groups, _type_names(groups), groups["operators"], of_whole(groups[key], whole)),
            _rows(outside, *_outside(trace, outside), of_whole(outside[key], whole)),
        )
    )
    no_host = NO_HOST_CALL if outside.height else NO_CALL
    reasons = {
        "type": UNKNOWN_TYPE,
        "tensor_core_eligible": NO_RULE,
        "tensor_core_used": NO_KERNEL_RULE,
        "pct": NO_WHOLE,
        **dict.fromkeys((*time_keys("cpu"), *_OVERHEAD), no_host),
        **dict.fromkeys((*time_keys("gpu"), *time_keys("gpu_idle")), NO_CALL),
    }
    frame, unknown = _without_unknown(trace, frame)
    table = Table(OPERATOR_TYPES, frame, needed(frame, reasons | unknown))
    return View(
        tables={OPERATOR_TYPES.name: in_default_order(table)},
        facts=_facts(frame),
        notes=quality_notes(trace, LINK_ISSUES),
    )


_WHOLE = PerTrace(partial(_operator_types, selection=Selection()), depends_on_steps=True)
"""The view of the whole trace, cached because most requests are for it."""


def _type_names(groups: pl.DataFrame) -> pl.Series:
    names = [TYPES[code] if code >= 0 else None for code in groups["type"].to_list()]
    return pl.Series(names, dtype=pl.String)


def _outside(trace: Trace, outside: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Types of the rows outside operators, and their number of operators, 1 each."""
    names = codes.texts(trace, outside["name_code"])
    return UNASSOCIATED + names, pl.Series([1] * outside.height, dtype=pl.Int64)


def _rows(
    groups: pl.DataFrame, types: pl.Series, operators: pl.Series, shares: pl.Series
) -> pl.DataFrame:
    is_of_operators = "eligible" in groups.columns
    eligible = groups["eligible"] if is_of_operators else pl.Series([-1] * groups.height)
    times = times_in_microseconds(groups)
    values = {
        "type": types,
        "operators": operators.cast(pl.Int64),
        "calls": groups["calls"].cast(pl.Int64),
        "timed_calls": groups["timed_calls" if is_of_operators else "calls"].cast(pl.Int64),
        "tensor_core_eligible": codes.verdict_column(eligible.cast(pl.Int8)),
        "tensor_core_used": codes.verdict_column(groups["used"].cast(pl.Int8)),
        **times,
        "pct": shares,
    }
    return pl.DataFrame([values[key].alias(key) for key in OPERATOR_TYPES.polars_schema()])


def _without_unknown(trace: Trace, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str]]:
    """``frame`` with columns cleared that the recording has no data for, and the reasons."""
    unknown: dict[str, str] = {}
    no_device = no_device_time(trace)
    if no_device is not None:
        unknown |= dict.fromkeys(_OF_DEVICE, no_device)
    if not has_runtime(trace):
        unknown |= dict.fromkeys(_OVERHEAD, NO_RUNTIME)
    schema = OPERATOR_TYPES.polars_schema()
    return frame.with_columns(pl.lit(None, schema[key]).alias(key) for key in unknown), unknown


def _facts(frame: pl.DataFrame) -> tuple[Fact, ...]:
    is_outside = pl.col("type").str.starts_with(UNASSOCIATED)
    has_shares = frame["pct"].null_count() < frame.height
    shares = [
        float(frame.filter(rows)["pct"].sum()) if has_shares else None
        for rows in (pl.col("type").is_null(), is_outside)
    ]
    known = frame.filter(pl.col("type").is_not_null() & ~is_outside)
    reason = None if has_shares else NO_WHOLE
    return (
        Fact(
            "type_count",
            "Types",
            known.height,
            "count",
            None,
            "Number of different operator types in the selection.",
        ),
        Fact(
            "unknown_type_pct",
            "Unknown type",
            shares[0],
            "pct",
            None,
            "Share of operators of unknown type.",
            reason,
        ),
        Fact(
            "unassociated_pct",
            "Outside operators",
            shares[1],
            "pct",
            None,
            "Share of device work launched outside operators.",
            reason,
        ),
    )


def _missing(trace: Trace) -> str | None:
    has_files = recorded_frame(trace, "recorded_operators") is not None
    return None if has_files else no_operators(trace)


SPEC = ViewSpec(
    name="operator_types",
    title="Operators: Type",
    help="Which kinds of operators take the time?",
    scope="trace",
    tables=(OPERATOR_TYPES, RECORDED_TYPES),
    function=operator_types,
    missing=_missing,
    by_phase=True,
    answer=answer,
)
