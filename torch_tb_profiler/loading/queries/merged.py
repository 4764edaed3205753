"""Answer requests for chosen ranks of a run as one file."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.clocks import ClockOffset, clock_offsets
from torch_tb_profiler.analysis.communication.metadata import in_rank_order, own_rank
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.masks import selected_steps, time_range
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.traces import (
    as_bad_parameters,
    cut_trace,
    open_traces,
    run_traces,
)
from torch_tb_profiler.requests.merge import Merge, MergedRank
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.worker_lists import chosen_workers
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace


def merge(catalog: Catalog, subject: Subject, workers: str, wait_s: float | None) -> Merge:
    """The chosen workers of a run with their clocks.

    Args:
        catalog: The traces.
        subject: The run, the span and what is selected: steps of each rank, times of the first one.
        workers: As :func:`~torch_tb_profiler.requests.worker_lists.chosen_workers`.
        wait_s: Limit for the summaries; traces are waited for when it is their turn.

    Raises:
        LoadingError: there is no such run, or no such worker.
        RequestError: the selection is malformed, or no rank has the steps.
        NotReadyError: a summary is not there in time.
    """
    file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
    files = catalog.workers(file.run, file.span, wait_s=wait_s)
    summaries = in_rank_order(run_traces(catalog, file, wait_s))
    ranks = {worker: own_rank(trace) for worker, trace in summaries.items()}
    chosen = chosen_workers(workers, ranks)
    with as_bad_parameters():
        selection = _checked(subject.selection, [summaries[worker] for worker in chosen])
    offsets = clock_offsets(summaries, chosen[0])
    first = summaries[chosen[0]]
    merged = [
        _merged_rank(worker, summaries[worker], offsets.get(worker), first) for worker in chosen
    ]

    def open_trace(worker: str) -> Trace:
        return cut_trace(_open(catalog, files[worker]), selection)

    return Merge(file.run, file.span, merged, selection, open_trace)


def _open(catalog: Catalog, file: SpanFile) -> Trace:
    (trace,) = open_traces(catalog, [file], None)
    return trace


def _checked(selection: Selection, summaries: Sequence[Trace]) -> Selection:
    """The selection with times of the first trace.

    Raises:
        SelectionError: no rank has the steps, or what is selected cannot be merged.
    """
    if selection.phase is not None:
        raise SelectionError("phase: select steps or times of what is merged.")
    problems = [_problem(trace, selection) for trace in summaries]
    if problems[0] is not None and None not in problems:
        raise problems[0]
    start_ns, end_ns = time_range(summaries[0], selection)
    return replace(selection, start_ns=start_ns, end_ns=end_ns)


def _problem(trace: Trace, selection: Selection) -> SelectionError | None:
    try:
        selected_steps(trace, selection)
    except SelectionError as error:
        return error
    return None


def _merged_rank(worker: str, trace: Trace, offset: ClockOffset | None, first: Trace) -> MergedRank:
    recorded_ns = trace.meta.base_ns - first.meta.base_ns
    return MergedRank(
        worker=worker,
        rank=own_rank(trace),
        meta=trace.meta,
        offset_ns=recorded_ns if offset is None else offset.offset_ns,
        drift=0.0 if offset is None else offset.drift_ppm / 1e6,
        pivot_ns=0 if offset is None else offset.pivot_ns,
        uncertainty_ns=None if offset is None else offset.uncertainty_ns,
        is_aligned=offset is not None,
        is_reference=trace is first,
    )
