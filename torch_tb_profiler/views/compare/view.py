"""The comparison of two recordings: what changed, by how much, and how sure that is.

Values are totals of the selection while both sides have equally many steps, and none of them cut,
else values per step (``group_by`` chooses one of the two). How sure a difference is comes from the
variation between steps: Welch's t-test over the sums of each step.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.recording.kernel_names import common_short_names
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.selection import Selection, SelectionError, chosen_group_by
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.alignment import Alignment, ModuleNode, align, tree_of
from torch_tb_profiler.views.compare.answer import comparison_answer
from torch_tb_profiler.views.compare.average import (
    AVERAGE_STEP,
    STEPS,
    compared_average,
    compared_steps,
    step_times,
)
from torch_tb_profiler.views.compare.explained import DRILL_DOWN, EXPLAINED
from torch_tb_profiler.views.compare.explanation import (
    ModuleNames,
    explanation,
    with_phase_shares,
    with_shares_of_total,
)
from torch_tb_profiler.views.compare.facts import LEADING, comparison_facts
from torch_tb_profiler.views.compare.memory import MEMORY, compared_memory
from torch_tb_profiler.views.compare.notes import comparison_notes
from torch_tb_profiler.views.compare.phases import PHASE_MEASURES, phase_side
from torch_tb_profiler.views.compare.renames import Pairs, pair_values, renames_of
from torch_tb_profiler.views.compare.sides import (
    KERNEL_MEASURES,
    MODULE_MEASURES,
    OPERATOR_MEASURES,
    ModuleSide,
    NamedSide,
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
from torch_tb_profiler.views.compare.surroundings import (
    SURROUNDINGS,
    Compared,
    compared_surroundings,
    no_confidence,
    surroundings_notes,
    surroundings_table,
)
from torch_tb_profiler.views.compare.tables import (
    PAIRED_WITH,
    SHARE,
    Measure,
    Pairing,
    by_size_of_change,
    compared_table,
    pair_by_key,
    pair_spec,
    without_confidence,
)
from torch_tb_profiler.views.compare.throughput import (
    NOT_OF_TIMERS,
    THROUGHPUT,
    compared_throughput,
    throughput_facts,
)
from torch_tb_profiler.views.name_columns import OTHER_NAMES, with_other_names
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

AUTO, TOTAL, PER_STEP = "auto", "total", "per_step"

OPERATORS = pair_spec(
    "operators",
    "Operators",
    "One row per operator of either side, the largest change first. Operators that are only "
    "renamed are one row.",
    keys=(Column("name", "Name", "string", None, "Name of the operator."), *PAIRED_WITH),
    measures=OPERATOR_MEASURES,
)
KERNELS = pair_spec(
    "kernels",
    "Kernels",
    "One row per kernel of either side, the largest change first. Kernels that are only renamed "
    "are one row.",
    keys=(Column("name", "Name", "string", None, "Name of the kernel."), *PAIRED_WITH),
    measures=KERNEL_MEASURES,
    more=OTHER_NAMES,
)
PHASES = pair_spec(
    "phases",
    "Phases",
    "One row per phase of the steps: data loading, forward, backward, optimizer. Phases are "
    "matched by kind, not by the names of their ranges.",
    keys=(
        Column("phase", "Phase", "string", None, "What it is."),
        Column(
            "baseline_names", "Baseline Names", "string", None, "Names of its ranges on that side."
        ),
        Column(
            "candidate_names",
            "Candidate Names",
            "string",
            None,
            "Names of its ranges on that side.",
        ),
    ),
    measures=PHASE_MEASURES,
    more=(SHARE,),
)
MODULES = pair_spec(
    "modules",
    "Modules",
    "One row per module of either side. Modules are matched by their position in the model, so "
    "an added layer or a wrapper around the model does not disturb the rest.",
    keys=(
        Column("path", "Path", "string", None, "Path in the baseline, else in the candidate."),
        Column("parent", "Parent", "string", None, "Path of the row above."),
        Column("baseline_name", "Baseline Module", "string", None, "Name in the baseline."),
        Column("candidate_name", "Candidate Module", "string", None, "Name in the candidate."),
    ),
    measures=MODULE_MEASURES,
    tree=("path", "parent"),
)


def compare(
    baseline: Trace, baseline_selection: Selection, candidate: Trace, candidate_selection: Selection
) -> View:
    """The comparison of candidate and baseline. ``group_by`` of the candidate's selection chooses
    totals or values per step.

    Raises:
        SelectionError: steps that are malformed or not in their trace, or no such grouping.
    """
    chosen = chosen_group_by(candidate_selection, SPEC.group_bys)
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
    around = compared_surroundings(bases)
    whole = tuple(basis if per_step else of_whole_steps(basis) for basis in bases)
    tables, parts = _tables(bases, (whole[0], whole[1]), around)
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
    around: tuple[Compared, ...],
) -> tuple[tuple[Table, ...], tuple[Fact, ...]]:
    """The tables, and facts on what explains the difference.

    Args:
        bases: Both sides, as values are compared.
        whole: Both sides, of whole steps.
        around: Differences of the environment.
    """
    steps = step_times(bases[0]), step_times(bases[1])
    average = with_shares_of_total(compared_average(steps[0], steps[1]))
    modules, names = _modules(bases)
    operators = operator_side(bases[0]), operator_side(bases[1])
    kernels = kernel_side(bases[0]), kernel_side(bases[1])
    renames = renames_of(bases, names)
    parts = explanation(whole, average, names, renames)
    shorts = common_short_names(basis.trace for basis in bases)
    tables: tuple[Table, ...] = (
        average,
        surroundings_table(around),
        with_phase_shares(_phases(bases), parts),
        *parts.tables,
        compared_steps(steps[0], steps[1]),
        _named(OPERATORS, OPERATOR_MEASURES, operators, renames.operators),
        with_other_names(_named(KERNELS, KERNEL_MEASURES, kernels, renames.kernels), shorts),
        modules,
        compared_memory(bases),
    )
    throughput = compared_throughput(bases[0].trace, bases[1].trace)
    unsure = no_confidence(around)
    if unsure is not None:
        tables = tuple(without_confidence(table, unsure) for table in tables)
    unsure = no_confidence(tuple(row for row in around if row.aspect.kind not in NOT_OF_TIMERS))
    if unsure is not None:
        throughput = without_confidence(throughput, unsure)
    return (*tables, throughput), parts.facts


def _named(
    spec: TableSpec, measures: tuple[Measure, ...], sides: tuple[NamedSide, NamedSide], pairs: Pairs
) -> Table:
    """A table of things that meet by name, or by ``pairs`` of different names; the largest change
    of the first known time on top."""
    a, b = sides
    baseline_names = {name: pair.baseline for name, pair in pairs.items()}
    pairing = pair_by_key(a.names, [baseline_names.get(name, name) for name in b.names])
    names = [
        a.names[left] if left >= 0 else b.names[right]
        for left, right in zip(pairing.baseline, pairing.candidate, strict=True)
    ]
    keys = {"name": names, **pair_values(names, pairs)}
    table = compared_table(spec, keys, measures, sides=(a.side, b.side), pairing=pairing)
    times = [f"delta_{measure.key}" for measure in measures if measure.sampled]
    known = [key for key in times if table.frame[key].is_not_null().any()]
    return by_size_of_change(table, (known or times)[0])


def _phases(bases: tuple[StepBasis, StepBasis]) -> Table:
    a, b = phase_side(bases[0]), phase_side(bases[1])
    pairing = pair_by_key(a.phases, b.phases)
    left, right = pairing.baseline.tolist(), pairing.candidate.tolist()
    keys = {
        "phase": [a.phases[i] if i >= 0 else b.phases[k] for i, k in zip(left, right, strict=True)],
        "baseline_names": [a.names[i] if i >= 0 else None for i in left],
        "candidate_names": [b.names[k] if k >= 0 else None for k in right],
    }
    table = compared_table(PHASES, keys, PHASE_MEASURES, sides=(a.side, b.side), pairing=pairing)
    return by_size_of_change(table, "delta_host_total_us")


def _modules(bases: tuple[StepBasis, StepBasis]) -> tuple[Table, ModuleNames]:
    """The table, and the names of the modules of each side, the same for those that meet."""
    a, b = module_side(bases[0]), module_side(bases[1])
    (nodes_a, roots_a), (nodes_b, roots_b) = _tree(a), _tree(b)
    alignment = align(nodes_a, nodes_b, (roots_a, roots_b))
    keys = _module_keys(alignment, a.frame, b.frame)
    pairing = Pairing(
        np.array(alignment.baseline, np.int64), np.array(alignment.candidate, np.int64)
    )
    table = compared_table(MODULES, keys, MODULE_MEASURES, sides=(a.side, b.side), pairing=pairing)
    names = [
        _names_of_nodes(basis.trace, side, rows, keys["path"])
        for basis, side, rows in zip(
            bases, (a, b), (alignment.baseline, alignment.candidate), strict=True
        )
    ]
    return table, (names[0], names[1])


def _names_of_nodes(
    trace: Trace, side: ModuleSide, rows: list[int], paths: list[str | None]
) -> list[str] | None:
    """Per node of a tree of modules its path in the comparison; None where there is no tree."""
    if not len(side.node):
        return None
    names = list(module_tree(trace).nodes.path)
    for row, path in zip(rows, paths, strict=True):
        if row >= 0 and path is not None:
            names[int(side.node[row])] = path
    return names


def _tree(side: ModuleSide) -> tuple[list[ModuleNode], tuple[int, ...]]:
    row = {path: index for index, path in enumerate(side.frame["path"])}
    parents = [-1 if parent is None else row[parent] for parent in side.frame["parent"]]
    return tree_of(side.frame["name"].to_list(), parents)


def _module_keys(
    alignment: Alignment, a: pl.DataFrame, b: pl.DataFrame
) -> dict[str, list[str | None]]:
    paths: list[str | None] = []
    taken = {a["path"][row] for row in alignment.baseline if row >= 0}
    for left, right in zip(alignment.baseline, alignment.candidate, strict=True):
        path = a["path"][left] if left >= 0 else b["path"][right]
        paths.append(f"{path} (candidate)" if left < 0 and path in taken else path)
    return {
        "path": paths,
        "parent": [paths[row] if row >= 0 else None for row in alignment.parent],
        "baseline_name": [a["name"][row] if row >= 0 else None for row in alignment.baseline],
        "candidate_name": [b["name"][row] if row >= 0 else None for row in alignment.candidate],
    }


def _missing(trace: Trace) -> str | None:
    return "The recording holds no events." if trace.slices.is_empty() else None


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
        THROUGHPUT,
    ),
    function=compare,
    group_bys=(AUTO, TOTAL, PER_STEP),
    missing=_missing,
    leading_facts=LEADING,
    pair_answer=comparison_answer,
)
