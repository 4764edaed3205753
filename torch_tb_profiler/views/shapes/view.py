"""The view ``shapes``: how long operators took in each iteration, and with which shapes.

Definitions: ``docs/views-shapes.md``.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from torch_tb_profiler.analysis.operators.calls import no_operators
from torch_tb_profiler.analysis.recording.missing_reasons import missing_reason
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.reported_by_profiler import can_narrow
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.quality_notes import FILE_ISSUES, LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, Note, Table, TableSpec, View
from torch_tb_profiler.views.shapes import PARAMETERS
from torch_tb_profiler.views.shapes.answer import answer
from torch_tb_profiler.views.shapes.calls import (
    calls_of_file,
    calls_of_timeline,
    has_shapes,
)
from torch_tb_profiler.views.shapes.columns import (
    INSTANCES,
    ITERATIONS,
    NO_SHAPE,
    NO_SHAPES,
    NO_TIME,
    NO_TYPE,
    SHAPES,
    TYPES,
)
from torch_tb_profiler.views.shapes.curves import curves
from torch_tb_profiler.views.shapes.iterations import iterations_table, of_iteration
from torch_tb_profiler.views.shapes.over import instances_over, types_over
from torch_tb_profiler.views.shapes.speeds import shapes_table
from torch_tb_profiler.views.spec import ViewSpec

IN_TRACE = "timeline"
_SIDE = "recorded_shapes"


def shapes(
    trace: Trace, selection: Selection, *, iteration: str | None = None, peak: str | None = None
) -> View:
    """The operators of a selection, iteration by iteration, or of one ``iteration``; speeds are
    compared with ``peak`` where it is given.

    Raises:
        SelectionError: steps that are malformed or not in this trace, or no such iteration.
    """
    is_whole = selection.is_everything and iteration is peak is None
    return _WHOLE(trace) if is_whole else _shapes(trace, selection, iteration, peak)


def _shapes(
    trace: Trace, selection: Selection, iteration: str | None = None, peak: str | None = None
) -> View:
    if _SIDE in trace.side:
        source, issues = trace.side[_SIDE].source, FILE_ISSUES
        calls = calls_of_file(trace, selection)
    else:
        source, issues = IN_TRACE, LINK_ISSUES
        calls = calls_of_timeline(trace, selection)
    types = types_over(calls)
    instances, distinct = instances_over(calls)
    tables = [
        _table(TYPES, of_iteration(types, calls, iteration)),
        _table(INSTANCES, of_iteration(instances, calls, iteration)),
        iterations_table(trace, calls, of_steps=source == IN_TRACE),
    ]
    if source == IN_TRACE:
        tables.append(shapes_table(trace, selection, peak))
    return View(
        series=curves(types, instances),
        tables={table.spec.name: table for table in tables},
        facts=_facts(distinct, source),
        notes=(*_not_narrowed(trace, selection), *quality_notes(trace, issues)),
    )


_WHOLE = PerTrace(partial(_shapes, selection=Selection()), depends_on_steps=True)
"""The view of the whole trace, which most questions are about."""


def _table(spec: TableSpec, rows: pl.DataFrame) -> Table:
    """A table of rows that are in its default order already."""
    frame = rows.select(list(spec.polars_schema()))
    reasons = {"type": NO_TYPE, "time_us": NO_TIME}
    reasons |= dict.fromkeys(("call_mean_us", "mean_us", "min_us", "max_us"), NO_TIME)
    if "input_shapes" in frame.columns:
        reasons |= {"input_shapes": NO_SHAPE, "name": NO_TYPE}
    return Table(spec, frame, needed(frame, reasons))


def _facts(distinct: Int64, source: str) -> tuple[Fact, ...]:
    """Facts by how many shapes each operator has."""
    dynamic = int((distinct > 1).sum())
    return (
        Fact(
            "dynamic_operators",
            "Operators with dynamic shapes",
            dynamic,
            "count",
            None,
            "Operators whose input shapes differ between calls.",
        ),
        Fact(
            "operator_count",
            "Operators",
            len(distinct),
            "count",
            None,
            "Operators with recorded input shapes; if read from a file, all operators in it.",
        ),
        Fact("shapes_source", "Source", source, None, None, "Source of the rows."),
    )


def _not_narrowed(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    side = trace.side.get(_SIDE)
    if side is None or selection.is_everything:
        return ()
    if can_narrow(trace, selection, side.frame["iteration"].cast(pl.String)):
        return ()
    text = f"Values from {side.source} cover all iterations, not only the selection."
    return (Note("quality", "recorded_not_narrowed", "info", text),)


def _missing(trace: Trace) -> str | None:
    if _SIDE in trace.side:
        return None
    reason = no_operators(trace)
    if reason is not None:
        return reason
    return None if has_shapes(trace) else missing_reason(trace, "input_shapes", NO_SHAPES)


SPEC = ViewSpec(
    name="shapes",
    title="Operators: Shape",
    help="How do operator times depend on input shapes?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(TYPES, INSTANCES, ITERATIONS, SHAPES),
    needs_times=False,
    function=shapes,
    missing=_missing,
    by_phase=True,
    answer=answer,
)
