"""The comparison where a side is a JSON report: of tables instead of events.

Both sides are read as the same values – a trace's from its events, a report's from its tables –
and compared like those of two traces. What needs events of both sides has no rows.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.kernel_names import common_short_names
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.surroundings import surroundings
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare import program, recorded, report_side
from torch_tb_profiler.views.compare.average import (
    StepTimes,
    compared_average,
    compared_steps,
    step_times,
)
from torch_tb_profiler.views.compare.environment_table import (
    SIDES,
    Compared,
    by_text,
    compared_aspect,
    no_confidence,
    surroundings_notes,
    surroundings_table,
)
from torch_tb_profiler.views.compare.explained import DRILL_DOWN, EXPLAINED
from torch_tb_profiler.views.compare.explanation import with_shares_of_total
from torch_tb_profiler.views.compare.facts import comparison_facts
from torch_tb_profiler.views.compare.memory import compared_memory, measured_memory
from torch_tb_profiler.views.compare.memory_parts import MEMORY_PARTS
from torch_tb_profiler.views.compare.module_table import compared_modules
from torch_tb_profiler.views.compare.name_tables import KERNELS, OPERATORS, compared_names
from torch_tb_profiler.views.compare.phases import PHASES
from torch_tb_profiler.views.compare.recorded import Setting
from torch_tb_profiler.views.compare.sides import (
    KERNEL_MEASURES,
    OPERATOR_MEASURES,
    ModuleSide,
    NamedSide,
    kernel_side,
    module_side,
    operator_side,
)
from torch_tb_profiler.views.compare.steps import StepBasis, step_basis, step_rows
from torch_tb_profiler.views.compare.tables import without_confidence
from torch_tb_profiler.views.compare.throughput import THROUGHPUT
from torch_tb_profiler.views.name_columns import with_other_names
from torch_tb_profiler.views.schema import Note, Table, View

_OF_TRACES: dict[str, Callable[[Trace], Setting]] = {
    "device": recorded.device,
    "device_count": recorded.device_count,
    "driver": recorded.driver,
    "host": recorded.host,
    "processor": program.processor,
}


class ComparedSide(Struct, frozen=True, eq=False):
    """What one side of a comparison says, whatever it was read from.

    Attributes:
        steps: Its steps.
        operators, kernels, modules: Their values, of the selection or per step.
        memory: Bytes by device and measure.
        settings: Aspect of the environment → what it says.
        basis: The steps of a trace; None for a report.
    """

    steps: StepTimes
    operators: NamedSide
    kernels: NamedSide
    modules: ModuleSide
    memory: dict[tuple[str, str], int]
    settings: dict[str, Setting]
    basis: StepBasis | None


def step_count(trace: Trace, selection: Selection) -> int:
    """How many steps a side averages over.

    Raises:
        SelectionError: as :func:`compared_side`.
    """
    if not report_side.is_report(trace):
        return len(step_rows(trace, selection))
    report_side.refuse_narrowed(selection)
    return int(report_side.report_steps(report_side.report_of(trace)).averaged.sum())


def compared_side(trace: Trace, selection: Selection, per_step: bool) -> ComparedSide:
    """One side.

    Raises:
        SelectionError: steps that are malformed or not in the trace; a report that is narrowed.
    """
    if not report_side.is_report(trace):
        rows = step_rows(trace, selection)
        basis = step_basis(trace, selection, rows, per_step)
        return ComparedSide(
            step_times(basis),
            operator_side(basis),
            kernel_side(basis),
            module_side(basis),
            measured_memory(step_basis(trace, selection, rows, False)),
            {kind: read(trace) for kind, read in _OF_TRACES.items()},
            basis,
        )
    report_side.refuse_narrowed(selection)
    report = report_side.report_of(trace)
    steps = report_side.report_steps(report)
    divisor = float(max(int(steps.averaged.sum()), 1)) if per_step else 1.0
    return ComparedSide(
        steps,
        report_side.report_operators(report, divisor),
        report_side.report_kernels(report, divisor),
        report_side.report_modules(report, divisor),
        report_side.report_memory(report),
        report_side.report_settings(report),
        None,
    )


def compare_reports(
    sides: tuple[tuple[Trace, Selection], tuple[Trace, Selection]], per_step: bool | None
) -> View:
    """The comparison of two sides of which one or both are reports.

    Args:
        sides: Baseline and candidate, each with what of it is counted.
        per_step: Whether values are per step; None: where the sides differ in steps.

    Raises:
        SelectionError: steps that are malformed or not in the trace; a report that is narrowed.
    """
    counts = step_count(*sides[0]), step_count(*sides[1])
    divided = counts[0] != counts[1] if per_step is None else per_step
    a, b = compared_side(*sides[0], divided), compared_side(*sides[1], divided)
    around = _compared_settings(a, b)
    average = with_shares_of_total(compared_average(a.steps, b.steps))
    shorts = common_short_names(trace for trace, _ in sides if not report_side.is_report(trace))
    kernels = compared_names(KERNELS, KERNEL_MEASURES, (a.kernels, b.kernels), {})
    summed = (
        compared_names(OPERATORS, OPERATOR_MEASURES, (a.operators, b.operators), {}),
        with_other_names(kernels, shorts),
        compared_modules(a.modules, b.modules)[0],
    )
    tables = (
        average,
        surroundings_table(around),
        compared_steps(a.steps, b.steps),
        *(without_confidence(table, report_side.NO_SAMPLES) for table in summed),
        compared_memory((a.memory, b.memory)),
    )
    forbidden = no_confidence(around)
    if forbidden is not None:
        tables = tuple(without_confidence(table, forbidden) for table in tables)
    is_report = [report_side.is_report(trace) for trace, _ in sides]
    return View(
        tables={table.spec.name: table for table in (*tables, *_empty_tables())},
        facts=comparison_facts(tables[0], counts, divided),
        notes=(_report_note(is_report), *surroundings_notes(around)),
    )


def _empty_tables() -> list[Table]:
    """The tables that need the events of both sides."""
    specs = (PHASES, EXPLAINED, DRILL_DOWN, MEMORY_PARTS, THROUGHPUT)
    return [
        Table(
            replace(spec, when_empty="A side is a report, which has no events."),
            pl.DataFrame(schema=spec.polars_schema()),
        )
        for spec in specs
    ]


def _compared_settings(a: ComparedSide, b: ComparedSide) -> tuple[Compared, ...]:
    """The aspects of the environment that a report has, in the order of all."""
    return tuple(
        compared_aspect(aspect, by_text(a.settings[aspect.kind], b.settings[aspect.kind]))
        for aspect in surroundings().aspects
        if aspect.kind in _OF_TRACES
        and (a.settings[aspect.kind].text or b.settings[aspect.kind].text) is not None
    )


def _report_note(is_report: list[bool]) -> Note:
    """That a side is a report, and what that means."""
    which = "Both sides are JSON reports"
    if not all(is_report):
        which = f"The {SIDES[is_report.index(True)]} is a JSON report"
    text = (
        f"{which}: steps, operators, kernels, modules and peaks of memory are compared. Phases, "
        "the explanation of the difference, renamed kernels and most of the environment need the "
        "traces of both sides."
    )
    sides = zip(SIDES, is_report, strict=True)
    evidence: dict[str, object] = {side: "report" for side, own in sides if own}
    return Note("quality", "side_is_report", "info", text, evidence)
