"""From a request to a view: the traces it is about, the view's function, sort and filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import cast

from torch_tb_profiler import advice
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.ingest.rank import Part
from torch_tb_profiler.loading.status import NotReadyError, joined
from torch_tb_profiler.loading.store.trace_store import Wanted
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError, unknown
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import registry
from torch_tb_profiler.views.querying import QueryError, query
from torch_tb_profiler.views.registry import (
    PairView,
    RunView,
    TraceView,
    ViewSpec,
)
from torch_tb_profiler.views.schema import Note, View


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: names of a run, worker and span (None: the first), and which part."""

    run: str | None = None
    worker: str | None = None
    span: str | None = None
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class TableQuery:
    """Sort, filter and paging (``views.querying``) of one table; ``table`` None is the first."""

    table: str | None = None
    sort: str | None = None
    filter: str | None = None
    offset: int = 0
    limit: int | None = None

    @property
    def changes_nothing(self) -> bool:
        """True when every row is wanted in its own order."""
        return not (self.sort or self.filter or self.offset) and self.limit is None


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """One question: a view of a subject, and of a baseline when it is a pair view."""

    view: str
    subject: Subject = field(default_factory=Subject)
    baseline: Subject | None = None
    rows: TableQuery = field(default_factory=TableQuery)


@dataclass(frozen=True, slots=True)
class Answer:
    """A view with what it is about: the names that were found, and the selections asked for.

    Attributes:
        spec: Declaration of the view.
        view: What it says.
        subject: What it is about; its worker is None for run views.
        baseline: What a pair view compares with, else None.
    """

    spec: ViewSpec
    view: View
    subject: Subject
    baseline: Subject | None = None


def view_spec(name: str) -> ViewSpec:
    """The declaration of a view.

    Raises:
        UnknownError: there is no such view.
    """
    try:
        return registry.view_named(name)
    except KeyError:
        raise unknown("view", name, registry.VIEW_NAMES) from None


def answer(catalog: Catalog, request: ViewRequest, *, wait_s: float | None = 0.0) -> Answer:
    """The answer to ``request``; asking starts the parsing of what it is about.

    Args:
        catalog: Where the traces are.
        request: What is asked.
        wait_s: How long to wait for traces to be parsed; None for as long as it takes.

    Raises:
        NotReadyError: traces are still being parsed when the time is up.
        UnknownError, RequestError: something asked for does not exist or makes no sense.
        OpenError: the trace cannot be read.
    """
    spec = view_spec(request.view)
    _check_group_by(spec, request.subject.selection)
    try:
        return _answer(catalog, spec, request, wait_s)
    except (SelectionError, QueryError) as error:
        raise RequestError("bad_parameter", str(error)) from error
    finally:
        catalog.store.settle()


def _answer(catalog: Catalog, spec: ViewSpec, request: ViewRequest, wait_s: float | None) -> Answer:
    subject = request.subject
    if spec.scope == "run":
        answered = _run_answer(catalog, spec, subject, wait_s)
    elif spec.scope == "pair":
        answered = _pair_answer(catalog, spec, request, wait_s)
    else:
        file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
        (trace,) = open_traces(catalog, [file], wait_s)
        view = trace_view(spec, trace, subject.selection)
        answered = Answer(spec, view, _found(subject, file))
    return replace(answered, view=with_rows(answered.view, request.rows))


def open_traces(catalog: Catalog, files: list[SpanFile], wait_s: float | None) -> list[Trace]:
    """The traces of ``files``, in order.

    Raises:
        NotReadyError: not all are parsed when the time is up.
        OpenError: one of them cannot be read.
    """
    opened, failed = open_what_fits(catalog, [(file, "trace") for file in files], wait_s)
    if failed:
        raise failed[0][1]
    return [trace for _, trace in opened]


def open_what_fits(
    catalog: Catalog, wanted: Sequence[Wanted], wait_s: float | None
) -> tuple[list[tuple[SpanFile, Trace]], list[tuple[SpanFile, LoadingError]]]:
    """What of ``wanted`` is open, with the traces (or summaries), and what failed: it cannot be
    read, or there is no room for it beside those before it.

    Raises:
        NotReadyError: there is more when the time is up.
    """
    gathered = catalog.store.gather(wanted, wait_s)
    if not all(each.is_settled for each in gathered):
        raise NotReadyError(joined(gathered[0].file.span, [each.status for each in gathered]))
    opened: list[tuple[SpanFile, Trace]] = []
    failed: list[tuple[SpanFile, LoadingError]] = []
    for each in gathered:
        problem = each.status.error
        if each.trace is not None:
            opened.append((each.file, each.trace))
        elif problem is not None:
            error = OpenError(problem.code, problem.message, problem.hint)
            failed.append((each.file, error))
    return opened, failed


def trace_view(spec: ViewSpec, trace: Trace, selection: Selection) -> View:
    """A ``trace`` view, with the advice when it is the overview.

    Raises:
        RequestError: the trace has nothing for this view; the message says why.
        SelectionError: as the view.
    """
    _check_available(spec, [spec.missing(trace)])
    make = cast(TraceView, spec.function)
    if spec.name != "overview":
        return make(trace, selection)
    with ThreadPoolExecutor(1, "advice") as beside:
        found = beside.submit(advice.all_advice, trace, selection)
        view = make(trace, selection)
        return replace(view, notes=view.notes + found.result())


def run_view(spec: ViewSpec, traces: Mapping[str, Trace], selection: Selection) -> View:
    """A ``run`` view of all workers, when at least one has something for it: one that never
    communicates, say, is part of the run still. With the advice that follows from comparing them
    when it is the distributed view; ``traces`` is not empty.

    Raises:
        RequestError: none has; the message says why.
        SelectionError: as the view.
    """
    _check_available(spec, [spec.missing(trace) for trace in traces.values()])
    view = cast(RunView, spec.function)(traces, selection)
    if spec.name != "distributed":
        return view
    return replace(view, notes=view.notes + advice.run_advice(traces, selection))


def with_rows(view: View, rows: TableQuery) -> View:
    """``view`` with one table sorted, filtered and cut.

    Raises:
        UnknownError: there is no such table.
        QueryError: as :func:`views.querying.query`.
    """
    if rows.table and rows.table not in view.tables:
        raise unknown("table", rows.table, view.tables)
    if rows.changes_nothing or not view.tables:
        return view
    name = rows.table or next(iter(view.tables))
    table = query(
        view.tables[name],
        sort=rows.sort,
        filter=rows.filter,
        offset=rows.offset,
        limit=rows.limit,
    )
    return replace(view, tables={**view.tables, name: table})


def _run_answer(catalog: Catalog, spec: ViewSpec, subject: Subject, wait_s: float | None) -> Answer:
    files = list(catalog.workers(subject.run, subject.span, wait_s=wait_s).values())
    part: Part = "summary" if spec.reads_summaries else "trace"
    opened, failed = open_what_fits(catalog, [(file, part) for file in files], wait_s)
    if failed and not opened:
        raise failed[0][1]
    traces = {file.worker: trace for file, trace in opened}
    view = run_view(spec, traces, subject.selection)
    left_out = tuple(_left_out(file, error) for file, error in failed)
    found = replace(_found(subject, files[0]), worker=None)
    return Answer(spec, replace(view, notes=left_out + view.notes), found)


def _left_out(file: SpanFile, error: LoadingError) -> Note:
    problem = error.problem
    text = f"Worker {file.worker} is left out: {problem.message}"
    evidence: dict[str, object] = {"worker": file.worker, "file": file.location.name}
    return Note("quality", "worker_left_out", "warning", text, {**evidence, "code": problem.code})


def _pair_answer(
    catalog: Catalog, spec: ViewSpec, request: ViewRequest, wait_s: float | None
) -> Answer:
    if request.baseline is None:
        hint = "Give baseline_run, and baseline_worker and baseline_span where there are several."
        raise RequestError("missing_parameter", f"{spec.title} needs a baseline.", hint)
    subjects = (request.baseline, request.subject)
    files = [
        catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
        for subject in subjects
    ]
    baseline, candidate = open_traces(catalog, files, wait_s)
    for trace in (baseline, candidate):
        _check_available(spec, [spec.missing(trace)])
    function = cast(PairView, spec.function)
    view = function(baseline, request.baseline.selection, candidate, request.subject.selection)
    return Answer(spec, view, _found(subjects[1], files[1]), _found(subjects[0], files[0]))


def _check_group_by(spec: ViewSpec, selection: Selection) -> None:
    chosen = selection.group_by
    if chosen and spec.group_bys and chosen not in spec.group_bys:
        raise RequestError(
            "bad_parameter",
            f"group_by: {spec.name} cannot be grouped by {chosen[:80]!r}.",
            f"Known are {', '.join(spec.group_bys)}.",
        )


def _check_available(spec: ViewSpec, reasons: list[str | None]) -> None:
    """Refuse when every one of ``reasons`` says that there is nothing for the view."""
    if all(reason is not None for reason in reasons):
        raise RequestError("view_unavailable", f"{spec.title}: {reasons[0]}")


def _found(asked: Subject, file: SpanFile) -> Subject:
    return replace(asked, run=file.run, worker=file.worker, span=file.span)
