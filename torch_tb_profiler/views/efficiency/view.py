"""Efficiency: how close operators, modules, steps and the model come to what devices can reach.

Definitions: ``docs/views-efficiency.md``.
"""

from __future__ import annotations

from functools import partial

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.efficiency.availability import has_work
from torch_tb_profiler.analysis.efficiency.groups import grouped, selected_calls
from torch_tb_profiler.analysis.efficiency.model import model_work
from torch_tb_profiler.analysis.efficiency.peaks import device_peaks
from torch_tb_profiler.analysis.efficiency.roofs import roof_times
from torch_tb_profiler.analysis.efficiency.traffic import grouped_traffic
from torch_tb_profiler.analysis.efficiency.uncounted import uncounted_pct
from torch_tb_profiler.analysis.operators.unattributed_work import launches_outside
from torch_tb_profiler.analysis.selection import Selection, chosen_group_by
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.trace.derived import PerTrace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.efficiency import PARAMETERS
from torch_tb_profiler.views.efficiency.answer import answer
from torch_tb_profiler.views.efficiency.columns import (
    GROUP_BYS,
    OPERATORS,
    RECORDED_FLOPS,
    RECORDED_OPERATORS,
    RECORDED_SCOPES,
    ROOFLINE_POINTS,
)
from torch_tb_profiler.views.efficiency.facts import (
    coverage_facts,
    model_facts,
    recoverable,
    type_facts,
)
from torch_tb_profiler.views.efficiency.lower_bounds import as_lower_bounds
from torch_tb_profiler.views.efficiency.measured import measured_facts
from torch_tb_profiler.views.efficiency.notes import efficiency_notes
from torch_tb_profiler.views.efficiency.recorded import (
    recorded_facts,
    recorded_operators,
    with_rates,
)
from torch_tb_profiler.views.efficiency.roofline import roofline, roofline_points
from torch_tb_profiler.views.efficiency.rows import operators_table
from torch_tb_profiler.views.null_reasons import missing_reason, recorded_reason
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.recorded import recorded_frame, recorded_notes, recorded_table
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = (
    "The recording contains neither FLOPs nor operator summaries, nor input shapes of operators "
    "to compute FLOPs from."
)


def efficiency(trace: Trace, selection: Selection, *, peak: str | None = None) -> View:
    """How close the selection comes to the limits of its devices, or to those of ``peak``, with
    values from files of the recording.

    Raises:
        SelectionError: steps, grouping or peaks make no sense for this trace.
    """
    group_by = chosen_group_by(selection, GROUP_BYS)
    selected_steps(trace, selection)
    recorded = _recorded(trace, selection)
    if not has_work(trace):
        return recorded
    is_whole = selection.is_everything and peak is None
    own = _WHOLE[group_by](trace) if is_whole else _counted(trace, selection, group_by, peak)
    file_tables = dict(recorded.tables)
    file_flops = file_tables.pop(OPERATORS.name)
    if file_flops.frame.height:
        file_tables[RECORDED_FLOPS.name] = replace(file_flops, spec=RECORDED_FLOPS)
    notes = recorded_notes(file_tables, selection)
    file_facts = tuple(_as_recorded(fact) for fact in recorded.facts if fact.value is not None)
    return View(own.tables | file_tables, own.series, own.facts + file_facts, own.notes + notes)


def _as_recorded(fact: Fact) -> Fact:
    """A fact from a file, with a scope that distinguishes it from the computed fact of the same
    key."""
    return replace(
        fact, scope="as recorded" if fact.scope is None else f"{fact.scope}, as recorded"
    )


def _counted(trace: Trace, selection: Selection, group_by: str, peak: str | None = None) -> View:
    """The view computed from the events of the recording."""
    mask = selected_calls(trace, selection)
    groups = grouped(trace, group_by, mask, peak)
    outside = launches_outside(trace, selection, by_stack=False)
    traffic = grouped_traffic(trace, group_by, mask, peak)
    operators = operators_table(trace, groups, traffic, outside)
    points = roofline_points(operators)
    peaks, model = device_peaks(trace, peak), model_work(trace, selection, mask, peak)
    roofs = roof_times(trace, peak)
    coverage = coverage_facts(
        trace, mask, roofs, int(outside["device_ns"].sum()), recoverable(operators.frame)
    )
    of_model = as_lower_bounds(model_facts(trace, model, peaks), uncounted_pct(trace, selection))
    of_memory = measured_facts(trace, selection, peaks, peak)
    facts = (*of_model, *coverage, *of_memory, *type_facts(model))
    plot = roofline(peaks, points)
    return View(
        tables={OPERATORS.name: operators, ROOFLINE_POINTS.name: points},
        series={} if plot is None else {"roofline": plot},
        facts=facts,
        notes=(
            *efficiency_notes(trace, mask, model, facts, operators.frame),
            *quality_notes(trace, LINK_ISSUES),
        ),
    )


_WHOLE = {
    group_by: PerTrace(
        partial(_counted, selection=Selection(), group_by=group_by), depends_on_steps=True
    )
    for group_by in GROUP_BYS
}
"""The view of the whole trace per grouping, cached because most requests are for it."""


def _recorded(trace: Trace, selection: Selection) -> View:
    """The view of values from files, for the whole recording."""
    flops = recorded_frame(trace, "recorded_flops")
    sums = recorded_frame(trace, "recorded_operators")
    tables: list[Table] = [recorded_operators(trace, flops, sums)]
    if sums is not None:
        tables.append(in_default_order(recorded_table(RECORDED_OPERATORS, sums)))
    if flops is not None:
        scopes = with_rates(flops.filter(pl.col("level") != "operator"))
        if scopes.height:
            tables.append(in_default_order(recorded_table(RECORDED_SCOPES, scopes)))
    return View(
        tables={table.spec.name: table for table in tables},
        facts=recorded_facts(trace, flops),
        notes=recorded_notes([table.spec.name for table in tables], selection),
    )


def _missing(trace: Trace) -> str | None:
    frames = (recorded_frame(trace, name) for name in ("recorded_flops", "recorded_operators"))
    if any(frame is not None for frame in frames) or has_work(trace):
        return None
    return recorded_reason(trace, "flops") or missing_reason(trace, "input_shapes", NOTHING)


SPEC = ViewSpec(
    name="efficiency",
    title="Efficiency",
    help="How close do operators and the model come to the peak of the device, and how much time "
    "could be saved?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(OPERATORS, ROOFLINE_POINTS, RECORDED_FLOPS, RECORDED_OPERATORS, RECORDED_SCOPES),
    needs_times=False,
    function=efficiency,
    group_bys=GROUP_BYS,
    missing=_missing,
    needs_moments=False,
    leading_facts=(
        "mfu_pct",
        "mfu_min_pct",
        "model_flops_per_step",
        "model_flops_min_per_step",
        "recoverable_us",
    ),
    by_phase=True,
    answer=answer,
)
