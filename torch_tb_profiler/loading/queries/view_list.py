"""Answer which views a trace has, and why the others are missing."""

from __future__ import annotations

from collections.abc import Iterator

from torch_tb_profiler.analysis.communication.metadata import world_size
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening.accompanying_files import accompanying_files
from torch_tb_profiler.loading.queries.traces import subject_trace
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import ViewEntryPayload, ViewsAnswer
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import registry
from torch_tb_profiler.views.device_words import missing_reason_of
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.without_times import no_timeline


def views_answer(catalog: Catalog, subject: Subject, *, wait_s: float | None = 0.0) -> ViewsAnswer:
    """The views of a trace, and why the others are missing.

    Raises:
        LoadingError: there is no such trace, or it cannot be read.
        NotReadyError: it is not parsed in time.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    workers = list(catalog.workers(file.run, file.span, wait_s=wait_s).values())
    specs = [spec for spec in registry.all_views().values() if spec.on_pages]
    views = [_view_entry(catalog, spec, trace, workers) for spec in specs]
    return ViewsAnswer(
        views=[*views, *_missing_timeline(trace)],
        first_view=registry.first_view(trace),
    )


def _missing_timeline(trace: Trace) -> Iterator[ViewEntryPayload]:
    """The timeline, which is no view, where a trace has none."""
    reason = no_timeline(trace)
    if reason is not None:
        yield ViewEntryPayload("timeline", "Timeline", "", "trace", False, reason, (), {})


def _view_entry(
    catalog: Catalog, spec: ViewSpec, trace: Trace, workers: list[SpanFile]
) -> ViewEntryPayload:
    reason = missing_reason_of(spec, trace)
    if reason is not None and spec.scope == "run" and _may_have(catalog, spec, trace, workers):
        reason = None
    return ViewEntryPayload(
        name=spec.name,
        title=spec.title,
        help=spec.help,
        scope=spec.scope,
        available=reason is None,
        reason=reason,
        group_bys=spec.group_bys,
        missing_group_bys={} if reason is not None else dict(spec.missing_group_bys(trace)),
    )


def _may_have(catalog: Catalog, spec: ViewSpec, trace: Trace, workers: list[SpanFile]) -> bool:
    """Whether one of ``workers`` has data for ``spec``, or files beside them. One that is not open
    yet, not even as a summary where the view reads these, may have it if ``trace`` is of a job of
    several ranks."""
    if next(accompanying_files(workers, spec.accompanied_by), None) is not None:
        return True
    is_of_job = (world_size(trace) or 1) > 1
    part: Part = "summary" if spec.reads_summaries else "trace"
    traces = [catalog.store.trace(file, part) for file in workers]
    if spec.missing_in_run is not None:
        opened = {file.worker: one for file, one in zip(workers, traces, strict=True)}
        return spec.missing_in_run(opened) is None
    return any(is_of_job if one is None else missing_reason_of(spec, one) is None for one in traces)
