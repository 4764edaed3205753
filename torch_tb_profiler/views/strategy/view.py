"""Strategy: how the job is divided among its ranks, and what each dimension costs.

Definitions: ``docs/views-strategy.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.certainty import communication_certainty
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.analysis.parallel.costs import dimension_costs, window_frame
from torch_tb_profiler.analysis.parallel.dimensions import group_dimensions
from torch_tb_profiler.analysis.parallel.pipelines import pipelines
from torch_tb_profiler.analysis.parallel.recorded import TABLE
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.selected_collectives import select_calls, selected_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import missing_reason
from torch_tb_profiler.views.programs import largest_program, program_notes
from torch_tb_profiler.views.quality_notes import RANK_ISSUES, quality_notes_of_several
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.strategy import MEASURES, PARAMETERS
from torch_tb_profiler.views.strategy.answer import answer
from torch_tb_profiler.views.strategy.columns import (
    BUBBLES,
    DIMENSIONS,
    GROUPS,
    MATRIX_LINES,
    PIPELINE,
    RANK_MATRIX,
)
from torch_tb_profiler.views.strategy.dimensions import dimensions_table, groups_table
from torch_tb_profiler.views.strategy.matrix import matrix_tables
from torch_tb_profiler.views.strategy.measures import rank_measures
from torch_tb_profiler.views.strategy.pipeline import pipeline_tables
from torch_tb_profiler.views.strategy.recorded import RECORDED, recorded_table


def strategy(
    traces: Mapping[str, Trace],
    selection: Selection,
    parallel: str | None = None,
    measure: str = MEASURES[0],
) -> View:
    """The parallel strategy of the workers of one run and span, of its largest program.

    Args:
        traces: The recordings by worker.
        selection: Which steps.
        parallel: The strategy as people give it; None recognizes it.
        measure: What rows and columns of the matrix are compared by.

    Raises:
        SelectionError: steps are malformed, no worker has them, or ``parallel`` does not fit.
    """
    everything, traces = traces, in_rank_order(largest_program(traces))
    groups = group_dimensions(traces, parallel)
    windows = selected_windows(traces, selection)
    matching = match(traces)
    selected = select_calls(matching, traces, selection, set(windows))
    frame = window_frame(matching.workers, windows)
    costs = dimension_costs(traces, windows, matching, selected, groups)
    coordinates = rank_coordinates(traces, parallel, groups)
    measures = rank_measures(traces, windows, frame, costs)
    stages, stage_notes = pipeline_tables(
        traces, pipelines(traces, windows, frame, coordinates, _stage_count(groups))
    )
    tables = (
        dimensions_table(groups, costs, frame),
        *stages,
        *matrix_tables(traces, coordinates, measures, measure),
        groups_table(groups, selected, coordinates["rank"]),
        recorded_table(traces),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        notes=(
            *program_notes(everything, traces),
            *quality_notes_of_several(traces, RANK_ISSUES, "worker"),
            *stage_notes,
        ),
    )


def _stage_count(groups: pl.DataFrame) -> int | None:
    """The size of the pipeline dimension; None where no group has it."""
    sizes = groups.filter((pl.col("dimension") == "pipeline") & pl.col("is_axis"))["size"]
    return max(sizes.drop_nulls().to_list(), default=None)


NOTHING = "The recording holds no communication (collectives or transfers between ranks)."


def _missing(trace: Trace) -> str | None:
    job = trace.meta.info.job
    if records(trace).frame.height or (job is not None and job.groups) or TABLE in trace.side:
        return None
    unknown = communication_certainty(trace).null_reason
    return unknown or missing_reason(trace, "communication", NOTHING)


SPEC = ViewSpec(
    name="strategy",
    title="Distributed: Strategy",
    help="How is the job divided among its ranks, and what does each dimension cost?",
    scope="run",
    tables=(DIMENSIONS, BUBBLES, PIPELINE, RANK_MATRIX, MATRIX_LINES, GROUPS, RECORDED),
    function=strategy,
    parameters=PARAMETERS,
    missing=_missing,
    reads_summaries=True,
    answer=answer,
)
