"""The view ``data``: how data was loaded, and what waited for it.

Definitions: ``docs/views-data.md``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.batches import batch_rows
from torch_tb_profiler.analysis.steps.reported_by_profiler import can_narrow, rows_of_steps
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.data.answer import answer
from torch_tb_profiler.views.data.bottleneck import bottlenecks, pipeline_of
from torch_tb_profiler.views.data.columns import LOADERS, PIPELINE, QUEUE, STAGES, WAITS
from torch_tb_profiler.views.data.loader import LoaderWaits, loader_slices, loader_waits
from torch_tb_profiler.views.data.notes import bottleneck_notes, empty_pct, queue_notes
from torch_tb_profiler.views.data.pipeline import (
    pipeline_rows,
    pipeline_table,
    queue_fill_series,
)
from torch_tb_profiler.views.data.queues import (
    queue_rows,
    queue_series,
    queue_table,
    wait_series,
    waits_table,
)
from torch_tb_profiler.views.data.recorded_view import recorded_loaders
from torch_tb_profiler.views.data.stages import stages_table
from torch_tb_profiler.views.null_reasons import recorded_reason
from torch_tb_profiler.views.quality_notes import FILE_ISSUES, STEP_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, Note, Series, Table, View
from torch_tb_profiler.views.spec import ViewSpec

NOTHING = (
    "The recording holds no data loading: no call of a data loader (torch.utils.data.DataLoader "
    "records its calls) and no MindData files."
)

NO_WAITS = "The recording holds no queue before the model and no call of a data loader."


def data(trace: Trace, selection: Selection) -> View:
    """How data was loaded in a selection: as a recorder of the loader tells it, else as MindData's
    files and the timeline do.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if batch_rows(trace).height:
        return recorded_loaders(trace, selection)
    recorded = queue_rows(trace)
    queues = rows_of_steps(trace, selection, recorded, "step")
    waits = loader_waits(trace, selection)
    operations = pipeline_rows(trace)
    pipeline = pipeline_of(operations)
    slow = bottlenecks(pipeline)
    tables: list[Table] = [stages_table(trace, queues, waits)]
    if operations.height:
        tables.append(pipeline_table(operations, pipeline, slow))
    if recorded.height:
        tables.append(queue_table(queues))
    tables.append(waits_table(trace, queues, waits))
    series: dict[str, Series] = {}
    if waits is not None and waits.steps:
        series["wait_per_step"] = wait_series(waits)
    curves = {
        "queue_sizes": queue_series(queues),
        "queue_fill": queue_fill_series(trace, operations),
    }
    series |= {name: one for name, one in curves.items() if one.lines}
    notes = (
        *queue_notes(queues),
        *bottleneck_notes(pipeline, slow, empty_pct(queues.filter(queue="host"))),
        *_not_narrowed(trace, selection, recorded, operations),
        *quality_notes(trace, STEP_ISSUES | FILE_ISSUES),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        series=series,
        facts=_facts(queues, waits, tables[-1]),
        notes=notes,
    )


def _not_narrowed(
    trace: Trace, selection: Selection, recorded: pl.DataFrame, operations: pl.DataFrame
) -> tuple[Note, ...]:
    if selection.is_everything or not (recorded.height or operations.height):
        return ()
    if recorded.height and can_narrow(trace, selection, recorded["step"].cast(pl.String)):
        return ()
    text = (
        "The selection does not apply to values that the recording's files hold for all steps "
        "together."
    )
    return (Note("quality", "recorded_not_narrowed", "info", text),)


def _facts(queues: pl.DataFrame, waits: LoaderWaits | None, waited: Table) -> tuple[Fact, ...]:
    is_known = waits is not None or queues["size"].is_not_null().any()
    facts = [
        Fact(
            "steps_waited",
            "Steps that waited",
            waited.frame.height if is_known else None,
            "count",
            None,
            "Steps whose queue before the model was empty; with a timeline, steps in which a "
            "data loader took a large part.",
            None if is_known else NO_WAITS,
        )
    ]
    if waits is not None:
        whole = int(waits.step_ns.sum())
        facts.append(
            Fact(
                "wait_pct",
                "Wait for data",
                int(waits.wait_ns.sum()) / whole * 100 if whole else None,
                "pct",
                None,
                "Share of the step time spent in the data loader.",
                None if whole else "The steps have no duration.",
            )
        )
    for name in ("host", "device"):
        share = empty_pct(queues.filter(queue=name))
        if share is not None:
            facts.append(
                Fact(
                    f"{name}_queue_empty_pct",
                    f"{name.capitalize()} queue empty",
                    share,
                    "pct",
                    None,
                    f"Share of the batches for which the {name} queue was empty.",
                )
            )
    return tuple(facts)


def _missing(trace: Trace) -> str | None:
    is_recorded = (
        "pipeline" in trace.side or "queues" in trace.side or len(loader_slices(trace)) > 0
    )
    if is_recorded or batch_rows(trace).height:
        return None
    return recorded_reason(trace, "data_loading") or NOTHING


SPEC = ViewSpec(
    name="data",
    title="Host & Data: Data loading",
    help="How is data loaded, and which steps wait for it?",
    scope="trace",
    tables=(STAGES, LOADERS, PIPELINE, QUEUE, WAITS),
    function=data,
    missing=_missing,
    answer=answer,
)
