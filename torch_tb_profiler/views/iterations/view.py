"""Iterations: what each was spent on, and what could cut the recording into others.

Definitions: ``docs/views-iterations.md#how-it-is-counted``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.key_nodes import key_nodes
from torch_tb_profiler.analysis.steps.iterations.steady import steadiness
from torch_tb_profiler.analysis.steps.iterations.windows import iterations
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.iteration_facts import iteration_facts
from torch_tb_profiler.views.iterations import PARAMETERS
from torch_tb_profiler.views.iterations.answer import answer
from torch_tb_profiler.views.iterations.bars import iteration_series, iterations_table
from torch_tb_profiler.views.iterations.columns import ITERATIONS, KEY_NODES
from torch_tb_profiler.views.iterations.notes import steady_facts, steady_note
from torch_tb_profiler.views.iterations.work_columns import ITERATION_KERNELS, ITERATION_OPERATORS
from torch_tb_profiler.views.iterations.work_tables import kernels_table, operators_table
from torch_tb_profiler.views.null_reasons import memory_alone
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, STEP_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Table, View
from torch_tb_profiler.views.spec import ViewSpec

ISSUES = LINK_ISSUES | STEP_ISSUES | {"no_steps", "step_left_out"}
"""Issues that concern iterations and what was launched in them."""


def iterations_view(
    trace: Trace,
    selection: Selection,
    *,
    iteration: str | None = None,
    operator_id: str | None = None,
) -> View:
    """The iterations of a trace; which are selected is a column. Operators and kernels are those of
    ``iteration``, else of all selected ones; kernels only of ``operator_id`` where it is given.

    Raises:
        SelectionError: steps that are malformed or not in this trace, or no such iteration or
            operator.
    """
    selected = iterations(trace, selection)
    table = iterations_table(trace, selected)
    steady = steadiness(trace, selection)
    return View(
        tables={
            ITERATIONS.name: table,
            ITERATION_OPERATORS.name: operators_table(trace, selection, iteration),
            ITERATION_KERNELS.name: kernels_table(trace, selection, iteration, operator_id),
            KEY_NODES.name: _key_nodes_table(trace),
        },
        series={"iteration_time": iteration_series(table)},
        facts=(*iteration_facts(trace, selection), *steady_facts(steady)),
        notes=(*quality_notes(trace, ISSUES), *steady_note(steady)),
    )


def _key_nodes_table(trace: Trace) -> Table:
    nodes = key_nodes(trace)
    frame = nodes.with_columns(
        microseconds(nodes[f"{stem}_ns"]).alias(f"{stem}_us")
        for stem in ("first_start", "interval_mean", "interval_stddev")
    )
    shown = frame.select(
        pl.col(key).cast(dtype) for key, dtype in KEY_NODES.polars_schema().items()
    )
    return Table(KEY_NODES, shown)


NO_EVENTS = "The recording holds no events and so no iterations."
STEPS_IN_FILES = "The steps reported in its files are in the view Phases."


def _missing(trace: Trace) -> str | None:
    if trace.slices.height:
        has_steps = trace.steps["slice"].is_not_null().any()
        return None if has_steps else memory_alone(trace)
    has_files = any(trace.side.get(name) for name in ("recorded_steps", "recorded_step_trace"))
    return f"{NO_EVENTS} {STEPS_IN_FILES}" if has_files else NO_EVENTS


SPEC = ViewSpec(
    name="iterations",
    title="Steps: Iterations",
    help="How long does each iteration take, where does its time go, and how steady are they?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(ITERATIONS, ITERATION_OPERATORS, ITERATION_KERNELS, KEY_NODES),
    function=iterations_view,
    missing=_missing,
    leading_facts=("iterations_selected", "iteration_mean_us", "iteration_stddev_us"),
    answer=answer,
)
