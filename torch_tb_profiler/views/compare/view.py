"""The comparison of two recordings: what changed, by how much, and how sure that is.

Values are totals of the selection while both sides have equally many steps, and none of them cut,
else values per step (``group_by`` chooses one of the two). How sure a difference is comes from the
variation between steps: Welch's t-test over the sums of each step.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.recording.kernel_names import common_short_names
from torch_tb_profiler.analysis.selection import Selection, SelectionError, chosen_group_by
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.answer import comparison_answer
from torch_tb_profiler.views.compare.average import (
    AVERAGE_STEP,
    STEPS,
    compared_average,
    compared_steps,
    step_times,
)
from torch_tb_profiler.views.compare.environment_table import (
    SURROUNDINGS,
    Compared,
    no_confidence,
    surroundings_notes,
    surroundings_table,
)
from torch_tb_profiler.views.compare.explained import DRILL_DOWN, EXPLAINED
from torch_tb_profiler.views.compare.explanation import (
    explanation,
    with_phase_shares,
    with_shares_of_total,
)
from torch_tb_profiler.views.compare.facts import LEADING, comparison_facts
from torch_tb_profiler.views.compare.memory import MEMORY, compared_memory, measured_memory
from torch_tb_profiler.views.compare.memory_parts import MEMORY_PARTS, compared_parts
from torch_tb_profiler.views.compare.module_table import (
    MODULES,
    compared_modules,
    names_of_modules,
)
from torch_tb_profiler.views.compare.name_tables import KERNELS, OPERATORS, compared_names
from torch_tb_profiler.views.compare.notes import comparison_notes
from torch_tb_profiler.views.compare.phases import PHASES, compared_phases
from torch_tb_profiler.views.compare.renames import renames_of
from torch_tb_profiler.views.compare.report_side import is_report
from torch_tb_profiler.views.compare.sides import (
    KERNEL_MEASURES,
    OPERATOR_MEASURES,
    kernel_side,
    module_side,
    operator_side,
)
from torch_tb_profiler.views.compare.steps import (
    StepBasis,
    has_cut_steps,
    of_whole_steps,
    step_basis,
    step_rows,
)
from torch_tb_profiler.views.compare.surroundings import compared_surroundings
from torch_tb_profiler.views.compare.tables import (
    without_confidence,
)
from torch_tb_profiler.views.compare.third import PER_STEP, third_group_by, with_third
from torch_tb_profiler.views.compare.throughput import (
    NOT_OF_TIMERS,
    THROUGHPUT,
    compared_throughput,
    throughput_facts,
)
from torch_tb_profiler.views.compare.with_reports import compare_reports
from torch_tb_profiler.views.name_columns import with_other_names
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

AUTO, TOTAL = "auto", "total"


def compare(
    baseline: Trace, baseline_selection: Selection, candidate: Trace, candidate_selection: Selection
) -> View:
    """The comparison of candidate and baseline. ``group_by`` of the candidate's selection chooses
    totals or values per step.

    Raises:
        SelectionError: steps that are malformed or not in their trace, or no such grouping.
    """
    chosen = chosen_group_by(candidate_selection, SPEC.group_bys)
    if is_report(baseline) or is_report(candidate):
        sides = (baseline, baseline_selection), (candidate, candidate_selection)
        return compare_reports(sides, None if chosen == AUTO else chosen == PER_STEP)
    try:
        baseline_rows = step_rows(baseline, baseline_selection)
    except SelectionError as error:
        raise SelectionError(f"baseline {error}") from error
    rows = baseline_rows, step_rows(candidate, candidate_selection)
    is_uneven = (
        len(rows[0]) != len(rows[1])
        or has_cut_steps(baseline, baseline_selection)
        or has_cut_steps(candidate, candidate_selection)
    )
    per_step = chosen == PER_STEP or (chosen == AUTO and is_uneven)
    bases = (
        step_basis(baseline, baseline_selection, rows[0], per_step),
        step_basis(candidate, candidate_selection, rows[1], per_step),
    )
    requested = (
        step_basis(baseline, baseline_selection, rows[0], False),
        step_basis(candidate, candidate_selection, rows[1], False),
    )
    whole = tuple(basis if per_step else of_whole_steps(basis) for basis in bases)
    tables, parts, around = _tables(bases, (whole[0], whole[1]), requested)
    return View(
        tables={table.spec.name: table for table in tables},
        facts=(
            *comparison_facts(tables[0], (len(rows[0]), len(rows[1])), per_step),
            *parts,
            *throughput_facts(tables[-1]),
        ),
        notes=surroundings_notes(around)
        + comparison_notes(
            bases, (baseline_selection, candidate_selection), scaled=per_step and chosen == AUTO
        ),
    )


def _tables(
    bases: tuple[StepBasis, StepBasis],
    whole: tuple[StepBasis, StepBasis],
    requested: tuple[StepBasis, StepBasis],
) -> tuple[tuple[Table, ...], tuple[Fact, ...], tuple[Compared, ...]]:
    """The tables, facts on what explains the difference, and differences of the environment.

    Args:
        bases: Both sides, as values are compared.
        whole: Both sides, of whole steps.
        requested: Both sides, of the selections as they are: a peak may lie outside of whole steps.
    """
    steps = step_times(bases[0]), step_times(bases[1])
    average = with_shares_of_total(compared_average(steps[0], steps[1]))
    of_modules = module_side(bases[0]), module_side(bases[1])
    modules = compared_modules(*of_modules)
    names = names_of_modules((bases[0].trace, bases[1].trace), of_modules, modules)
    operators = operator_side(bases[0]), operator_side(bases[1])
    kernels = kernel_side(bases[0]), kernel_side(bases[1])
    renames = renames_of(bases, names)
    around = compared_surroundings(bases, renames)
    parts = explanation(whole, average, names, renames)
    shorts = common_short_names(basis.trace for basis in bases)
    tables: tuple[Table, ...] = (
        average,
        surroundings_table(around),
        with_phase_shares(compared_phases(bases), parts),
        *parts.tables,
        compared_steps(steps[0], steps[1]),
        compared_names(OPERATORS, OPERATOR_MEASURES, operators, renames.operators),
        with_other_names(
            compared_names(KERNELS, KERNEL_MEASURES, kernels, renames.kernels), shorts
        ),
        modules[0],
        compared_memory((measured_memory(requested[0]), measured_memory(requested[1]))),
        compared_parts(requested),
    )
    throughput = compared_throughput(bases[0].trace, bases[1].trace)
    unsure = no_confidence(around)
    if unsure is not None:
        tables = tuple(without_confidence(table, unsure) for table in tables)
    unsure = no_confidence(tuple(row for row in around if row.aspect.kind not in NOT_OF_TIMERS))
    if unsure is not None:
        throughput = without_confidence(throughput, unsure)
    return (*tables, throughput), parts.facts, around


def _missing(trace: Trace) -> str | None:
    is_empty = trace.slices.is_empty() and trace.memory.is_empty() and not is_report(trace)
    return "The recording holds no events." if is_empty else None


SPEC = ViewSpec(
    name="compare",
    title="Compare",
    help="What changed between two recordings, and is the change significant?",
    scope="pair",
    tables=(
        AVERAGE_STEP,
        SURROUNDINGS,
        PHASES,
        EXPLAINED,
        DRILL_DOWN,
        STEPS,
        OPERATORS,
        KERNELS,
        MODULES,
        MEMORY,
        MEMORY_PARTS,
        THROUGHPUT,
    ),
    function=compare,
    group_bys=(AUTO, TOTAL, PER_STEP),
    missing=_missing,
    leading_facts=LEADING,
    is_first=is_report,
    pair_answer=comparison_answer,
    with_third=with_third,
    third_group_by=third_group_by,
)
