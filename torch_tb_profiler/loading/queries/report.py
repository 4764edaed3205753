"""Compute the views of a report to hand on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.importers.registry import label_of
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.traces import as_bad_parameters, cut_trace, subject_trace
from torch_tb_profiler.loading.queries.views import view_result, view_spec
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.requests.report import ReportContents, ReportSource
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.registry import DEFAULT_VIEW, REPORT_VIEWS
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.timeline.notes import TimelineNote
from torch_tb_profiler.views.timeline.picture import Picture, picture, picture_of_notes

_YEAR_2000_NS = 946_684_800 * 10**9
"""Before it, a recording counts from some other moment than 1970."""


def report_contents(
    catalog: Catalog,
    subject: Subject,
    views: Sequence[str] = REPORT_VIEWS,
    tables: Sequence[str] = (),
    notes: Sequence[TimelineNote] = (),
    *,
    wait_s: float | None = 0.0,
) -> ReportContents:
    """What a report about ``subject`` holds.

    Args:
        catalog: The catalog of the traces.
        subject: The recording and the selection.
        views: Names of the views, in order; the overview is always the first.
        tables: Names of the only tables of the views that are wanted; empty for all.
        notes: What a person wrote on the timeline, in order of time.
        wait_s: As for :func:`view_result`.

    Raises:
        LoadingError, NotReadyError: as :func:`view_result`; a view without data is left out.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    results: list[ViewResult] = []
    for name in dict.fromkeys((DEFAULT_VIEW, *views)):
        requested = _with_own_grouping(subject, name)
        try:
            result = view_result(catalog, ViewRequest(name, requested), wait_s=wait_s)
        except RequestError as error:
            if error.problem.code != "view_unavailable":
                raise
            continue
        results.append(replace(result, view=_with_all_rows(result.view, tables, name)))
    if not results:  # its error says what was read instead
        view_result(catalog, ViewRequest(DEFAULT_VIEW, subject), wait_s=wait_s)
    worst = _picture(file, trace, subject.selection, results)
    pictures = [worst] if worst is not None else []
    if notes and trace.slices.height:
        pictures.append(picture_of_notes(trace, notes))
    return ReportContents(tuple(results), (source_of(file, trace),), tuple(pictures))


def comparison_contents(
    catalog: Catalog,
    request: ViewRequest,
    tables: Sequence[str] = (),
    *,
    wait_s: float | None = 0.0,
) -> ReportContents:
    """What a report about a comparison holds: all its tables, or those named by ``tables``.

    Raises:
        LoadingError, NotReadyError: as :func:`view_result`.
    """
    result = view_result(catalog, request, wait_s=wait_s)
    result = replace(result, view=_with_all_rows(result.view, tables, request.view))
    sources: list[ReportSource] = []
    for side in (result.baseline, result.subject):
        with suppress(LoadingError):  # a side may be a report without its trace
            if side is not None:
                sources.append(source_of(*subject_trace(catalog, side, wait_s)))
    return ReportContents((result,), tuple(sources))


def _with_own_grouping(subject: Subject, view: str) -> Subject:
    """``subject`` without a grouping that is another view's."""
    group_by = subject.selection.group_by
    if group_by is None or group_by in view_spec(view).group_bys:
        return subject
    return replace(subject, selection=replace(subject.selection, group_by=None))


def source_of(file: SpanFile, trace: Trace) -> ReportSource:
    """What a report says of its file."""
    recorded_s, start_ns = file.recorded_s, trace.meta.base_ns + trace.meta.start_ns
    if recorded_s is None and start_ns >= _YEAR_2000_NS:
        recorded_s = start_ns / 10**9
    return ReportSource(
        name=file.location.name,
        path=file.path,
        size_bytes=None if file.location.is_folder else file.state.size_bytes,
        format=label_of(trace.meta.format),
        recorded_s=recorded_s,
    )


def _with_all_rows(view: View, tables: Sequence[str], name: str) -> View:
    chosen = {key: table for key, table in view.tables.items() if key in tables}
    if name == DEFAULT_VIEW or not chosen:
        chosen = view.tables
    return replace(view, tables={key: complete(table) for key, table in chosen.items()})


def _picture(
    file: SpanFile, trace: Trace, selection: Selection, results: Sequence[ViewResult]
) -> Picture | None:
    """The stretch of the first finding that has one; without any, the longest step."""
    if not trace.slices.height:
        return None
    for note in results[0].view.notes if results else ():
        spot = note.evidence.get("timeline")
        if note.kind != "advice" or not isinstance(spot, dict):
            continue
        if spot.get("worker") in (None, file.worker):
            title = str(note.evidence.get("title") or note.code)
            return picture(trace, title, spot["start_ns"], spot["end_ns"], spot.get("slice"))
    with as_bad_parameters():
        cut = cut_trace(trace, selection)
        steps = step_windows(cut, selection)
    if not len(steps.start_ns):
        return None
    longest = int(np.argmax(steps.end_ns - steps.start_ns))
    origin_ns = trace.meta.start_ns
    start_ns, end_ns = int(steps.start_ns[longest]), int(steps.end_ns[longest])
    title = f"Step {steps.names[longest]}, the longest"
    return picture(trace, title, start_ns - origin_ns, end_ns - origin_ns, None)
