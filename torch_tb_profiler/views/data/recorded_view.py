"""The view ``data`` of a recording that holds each batch."""

from __future__ import annotations

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN, selected_batches
from torch_tb_profiler.analysis.steps.data_loading.diagnosis import diagnosis
from torch_tb_profiler.analysis.steps.data_loading.summary import Loading, loadings
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.data.loader_notes import loader_notes, transfer_notes
from torch_tb_profiler.views.data.loader_pipeline import loader_pipeline_table
from torch_tb_profiler.views.data.loader_queues import (
    loader_wait_series,
    loader_waits_table,
    ready_series,
)
from torch_tb_profiler.views.data.loader_stages import (
    loader_stages_table,
    loaders_table,
    transfers,
)
from torch_tb_profiler.views.loader_diagnosis import phase_title
from torch_tb_profiler.views.quality_notes import FILE_ISSUES, STEP_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, View


def recorded_loaders(trace: Trace, selection: Selection) -> View:
    """How data was loaded in a selection, as recorded for each batch.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    batches = selected_batches(trace, selection)
    judged = [(each, diagnosis(each)) for each in loadings(trace, selection)]
    sent = transfers(trace, selection)
    tables = (
        loader_stages_table(trace, judged, sent),
        loaders_table(trace, judged),
        loader_pipeline_table(judged),
        loader_waits_table(trace, batches),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        series=loader_wait_series(batches) | ready_series(batches),
        facts=_facts([loading for loading, _ in judged]),
        notes=(
            *loader_notes(judged),
            *transfer_notes(judged, sent, step_windows(trace, selection)),
            *quality_notes(trace, STEP_ISSUES | FILE_ISSUES),
        ),
    )


def _facts(recorded: list[Loading]) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    for phase in dict.fromkeys(each.phase for each in recorded):
        mine = [each for each in recorded if each.phase == phase]
        suffix = "" if phase == TRAIN else f"_{phase}"
        scope = phase_title(phase)
        elapsed_us = sum(each.elapsed_us for each in mine)
        wait_us = sum(each.waiting_us for each in mine)
        facts += [
            Fact(
                f"steps_waited{suffix}",
                "Batches that were waited for",
                sum(each.waited for each in mine),
                "count",
                scope,
                f"Of {sum(each.batches for each in mine):,} batches, those whose wait took 5 % "
                "or more of the time until the next request.",
            ),
            Fact(
                f"wait_pct{suffix}",
                "Wait for data",
                wait_us / elapsed_us * 100 if elapsed_us else None,
                "pct",
                scope,
                "Time that the program waited for its data loaders ÷ time from batch to batch.",
                None if elapsed_us else "The batches have no duration.",
            ),
        ]
    return tuple(facts)
