"""Ranks: all ranks of a job on one page, and which of them stand out.

Definitions: ``docs/views-ranks.md``. Everything is computed from summaries, for all ranks in one
batch.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching, match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.communication.programs import programs
from torch_tb_profiler.analysis.parallel.coordinates import AXES, rank_coordinates
from torch_tb_profiler.analysis.ranks.late_arrivals import late_arrivals
from torch_tb_profiler.analysis.ranks.locations import rank_locations, rank_topology
from torch_tb_profiler.analysis.ranks.measures import averaged_steps, rank_measures
from torch_tb_profiler.analysis.ranks.outliers import rank_outliers
from torch_tb_profiler.analysis.ranks.patterns import rank_patterns
from torch_tb_profiler.analysis.ranks.selected_steps import steps_of_ranks
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import select_calls, selected_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.first_rows import first_rows
from torch_tb_profiler.views.programs import job_ranks, program_notes
from torch_tb_profiler.views.quality_notes import RANK_ISSUES, quality_notes_of_several
from torch_tb_profiler.views.ranks import PARAMETERS
from torch_tb_profiler.views.ranks.answer import answer
from torch_tb_profiler.views.ranks.columns import OUTLIERS, PATTERNS, RANK_STEPS, RANKS
from torch_tb_profiler.views.ranks.rows import (
    outliers_table,
    patterns_table,
    rank_steps_table,
    ranks_table,
)
from torch_tb_profiler.views.ranks.slow_ranks import SLOW_RANKS, slow_ranks_table
from torch_tb_profiler.views.schema import Fact, Note, View
from torch_tb_profiler.views.spec import ViewSpec


def ranks(
    traces: Mapping[str, Trace], selection: Selection, *, parallel: str | None = None
) -> View:
    """The ranks of one run and span beside each other; one is enough.

    Raises:
        SelectionError: steps are malformed, or no rank has them; ``parallel`` is no strategy.
    """
    traces = in_rank_order(traces)
    coordinates = rank_coordinates(traces, parallel)
    steps = steps_of_ranks(traces, selection)
    measures = rank_measures(traces, averaged_steps(steps))
    outliers, pattern, differences = _compared(traces, measures, coordinates["pipeline"])
    located = rank_locations(traces).with_columns(*coordinates.select(AXES).get_columns(), pattern)
    late = late_arrivals(traces, _matching(traces, selection))
    tables = (
        slow_ranks_table(traces, selection, parallel),
        ranks_table(traces, located, measures, outliers, late),
        outliers_table(located, outliers),
        patterns_table(located, measures, differences, late),
        rank_steps_table(traces, located, steps),
    )
    return View(
        tables={table.spec.name: first_rows(table) for table in tables},
        facts=_facts(traces, outliers, pattern),
        notes=program_notes(traces, traces)
        + quality_notes_of_several(traces, RANK_ISSUES, "worker")
        + _topology_notes(traces),
    )


def _compared(
    traces: Mapping[str, Trace], measures: pl.DataFrame, stage: pl.Series
) -> tuple[pl.DataFrame, pl.Series, pl.DataFrame]:
    """The outliers and the patterns of the ranks of each program among themselves, of stages too: a
    stage of a pipeline has work of its own."""
    row_of = {worker: row for row, worker in enumerate(traces)}
    outliers, differences, first = [], [], 0
    pattern = np.zeros(len(traces), np.int64)
    for names in programs(traces).workers:
        rows = [row_of[name] for name in names]
        outliers.append(rank_outliers(measures[rows], stage[rows]))
        numbers, differs = rank_patterns(measures[rows])
        pattern[rows] = numbers.to_numpy() + first
        differences.append(differs.with_columns(pl.col("pattern") + first))
        first += numbers.n_unique()
    return (
        pl.concat(outliers).sort("worker", maintain_order=True),
        pl.Series("pattern", pattern),
        pl.concat(differences),
    )


def _topology_notes(traces: Mapping[str, Trace]) -> tuple[Note, ...]:
    """That the file of nodes and switches beside the recordings is not used."""
    topology = rank_topology(next(iter(traces.values())))
    if topology.problem is None:
        return ()
    text = (
        f"{topology.source} beside the recordings is not used: {topology.problem}. "
        "Nodes are those that the recordings name."
    )
    evidence: dict[str, object] = {"file": topology.source, "problem": topology.problem}
    return (Note("quality", "topology_unread", "warning", text, evidence),)


def _matching(traces: Mapping[str, Trace], selection: Selection) -> Matching:
    """The matched calls of the selection on all ranks."""
    matching = match(traces)
    if selection.is_everything:
        return matching
    return select_calls(matching, traces, selection, set(selected_windows(traces, selection)))


def _facts(
    traces: Mapping[str, Trace], outliers: pl.DataFrame, pattern: pl.Series
) -> tuple[Fact, ...]:
    ranks, unknown = job_ranks(traces)
    return (
        Fact("worker_count", "Workers", len(traces), "count", None, "Number of loaded recordings."),
        Fact(
            "world_size",
            "World size",
            ranks,
            "count",
            None,
            "Ranks of the job, as recorded.",
            unknown,
        ),
        Fact(
            "outlier_count",
            "Ranks that stand out",
            outliers["worker"].n_unique(),
            "count",
            None,
            "Ranks with at least one measure far from the median of their peers.",
        ),
        Fact(
            "pattern_count",
            "Patterns",
            pattern.n_unique(),
            "count",
            None,
            "Groups of ranks that behave alike.",
        ),
    )


NO_STEPS = "The recording holds no step and no events, so there is nothing to compare."


def _missing(trace: Trace) -> str | None:
    return None if trace.steps.height else NO_STEPS


SPEC = ViewSpec(
    name="ranks",
    title="Distributed: Ranks",
    help="How do the ranks of the job compare, and which of them stand out?",
    scope="run",
    tables=(RANKS, SLOW_RANKS, OUTLIERS, PATTERNS, RANK_STEPS),
    function=ranks,
    parameters=PARAMETERS,
    missing=_missing,
    reads_summaries=True,
    answer=answer,
)
