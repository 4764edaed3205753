"""Compute a requested view: its traces, the view function, advice, sorting and filtering."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import cast

from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.roles import exclusive_intervals
from torch_tb_profiler.analysis.operators.key_operators import key_operator_instances
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.ranks import split_ranks
from torch_tb_profiler.analysis.steps.iterations.split import (
    has_recorded_steps,
    split_iterations,
)
from torch_tb_profiler.analysis.steps.iterations.split_by import parse_split_by
from torch_tb_profiler.detectors import detect_across_workers, run_detectors
from torch_tb_profiler.evidence.damage import damage_notes
from torch_tb_profiler.evidence.report import AdviceReport
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.opening.accompanying_files import accompanying_files
from torch_tb_profiler.loading.opening.rank_topology import join_topology
from torch_tb_profiler.loading.queries.pairs import (
    pair_of_request,
    pair_view,
    with_pair_answer,
)
from torch_tb_profiler.loading.queries.stored_views import view_of
from torch_tb_profiler.loading.queries.traces import (
    as_bad_parameters,
    open_what_fits,
    subject_trace,
)
from torch_tb_profiler.loading.queries.view_checks import (
    check_available,
    check_group_by,
    drop_unsupported_phase,
    with_leading_notes,
    with_names,
)
from torch_tb_profiler.requests.errors import LoadingError, RequestError, unknown
from torch_tb_profiler.requests.questions import Subject, TableQuery, ViewRequest
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import registry
from torch_tb_profiler.views.checks import PASSED
from torch_tb_profiler.views.cut_notes import cut_notes, cut_notes_of_ranks
from torch_tb_profiler.views.device_words import localize_device_terms, missing_reason_of
from torch_tb_profiler.views.parameters import given_values
from torch_tb_profiler.views.querying import complete, query
from torch_tb_profiler.views.schema import Note, View
from torch_tb_profiler.views.spec import RunView, TraceView, ViewSpec
from torch_tb_profiler.views.sums_alone import sums_alone
from torch_tb_profiler.views.without_times import check_time_range, no_times, without_times

MANY_SLICES = 50_000
"""Slices of a trace from which on findings may come later: those of a smaller one take less than
two questions."""


NO_ISSUE = "No check found an issue."
"""Ends the answer of a view with findings where none is worth acting on."""


def view_spec(name: str) -> ViewSpec:
    """The declaration of a view.

    Raises:
        UnknownError: there is no such view.
    """
    try:
        return registry.view_named(name)
    except KeyError:
        raise unknown("view", name, registry.VIEW_NAMES) from None


def view_result(
    catalog: Catalog, request: ViewRequest, *, wait_s: float | None = 0.0
) -> ViewResult:
    """The result of ``request``; the request starts the parsing of its traces.

    Args:
        catalog: The catalog of the traces.
        request: The request.
        wait_s: How long to wait for traces to be parsed; None for as long as it takes.

    Raises:
        NotReadyError: traces are still being parsed after the timeout.
        UnknownError, RequestError: a requested name does not exist, or the request is invalid.
        OpenError: the trace cannot be read.
    """
    spec = view_spec(request.view)
    check_group_by(spec, request.subject.selection)
    try:
        with as_bad_parameters():
            result = _whole_result(catalog, spec, request, wait_s)
            return replace(result, view=with_rows(result.view, request.rows))
    finally:
        catalog.store.enforce_limit()


def pair_result(
    spec: ViewSpec,
    baseline: tuple[Subject, Trace],
    candidate: tuple[Subject, Trace],
    rows: TableQuery,
) -> ViewResult:
    """A ``pair`` view of two open traces, possibly of different roots.

    Raises:
        RequestError: one of them has no data for it, or a selection or the rows are invalid.
        UnknownError: there is no such table.
    """
    (base_subject, base_trace), (subject, trace) = baseline, candidate
    check_group_by(spec, subject.selection)
    with as_bad_parameters():
        view = pair_view(spec, base_trace, base_subject.selection, trace, subject.selection)
        view = with_pair_answer(spec, view, base_subject, subject)
        return ViewResult(spec, with_rows(view, rows), subject, base_subject)


def _whole_result(
    catalog: Catalog, spec: ViewSpec, request: ViewRequest, wait_s: float | None
) -> ViewResult:
    """The view with all its rows."""
    subject = request.subject
    if spec.scope == "run":
        return _run_result(catalog, spec, subject, wait_s)
    if spec.scope == "pair":
        return pair_of_request(catalog, spec, request, wait_s)
    file, trace = subject_trace(catalog, subject, wait_s)
    compute = partial(
        trace_view,
        spec,
        trace,
        subject.selection,
        subject.parameters,
        findings_later=request.findings_later,
    )
    view = view_of(spec, trace, subject, compute)
    return ViewResult(spec, view, with_names(subject, file))


def trace_view(
    spec: ViewSpec,
    trace: Trace,
    selection: Selection,
    parameters: Mapping[str, str] = MappingProxyType({}),
    *,
    findings_later: bool = False,
) -> View:
    """A ``trace`` view, with the findings of the detectors where the view has them; those of a
    long trace of which nothing was computed may come ``findings_later``. ``parameters`` (key →
    text) may include undeclared ones, which are ignored.

    Raises:
        RequestError: the trace has no data for this view; the message says why.
        SelectionError: as the view.
    """
    check_time_range(trace, selection)
    selection, phase_notes = drop_unsupported_phase(spec, selection)
    trace = split_iterations(trace, selection.iterations_by, key_operator_instances)
    view = with_leading_notes(
        _trace_view(spec, trace, selection, parameters, findings_later=findings_later),
        phase_notes + cut_notes(trace),
    )
    view = without_times(trace, replace(view, answer=spec.answer(view)))
    view = sums_alone(trace, view)
    return localize_device_terms({"": trace}, view)


def _trace_view(
    spec: ViewSpec,
    trace: Trace,
    selection: Selection,
    parameters: Mapping[str, str],
    *,
    findings_later: bool,
) -> View:
    check_available(spec, [missing_reason_of(spec, trace)])
    values = given_values(spec.parameters, parameters)
    compute = partial(cast(TraceView, spec.function), **values)
    if not spec.has_findings:
        return compute(trace, selection)
    if no_times(trace) is not None:  # detectors compare times
        view = compute(trace, selection)
        return replace(view, notes=(*view.notes, *damage_notes(view.notes)))
    if exclusive_intervals.is_computed(trace):
        # The expensive values are computed: two threads would mostly wait for each other.
        return _with_findings(compute(trace, selection), run_detectors(trace, selection))
    if findings_later and trace.slices.height >= MANY_SLICES:
        return replace(compute(trace, selection), findings_pending=True)
    with ThreadPoolExecutor(1, "advice") as pool:
        findings = pool.submit(run_detectors, trace, selection)
        view = compute(trace, selection)
        return _with_findings(view, findings.result())


def _with_findings(view: View, report: AdviceReport) -> View:
    """``view`` with file problems first, then the findings, and the table of checks; its answer
    says so where checks ran and none of them found anything to act on."""
    has_checks = (report.checks.frame["outcome"] == PASSED).any()
    is_clear = has_checks and not any(note.severity == "warning" for note in report.notes)
    return replace(
        view,
        answer=f"{view.answer} {NO_ISSUE}" if view.answer and is_clear else view.answer,
        notes=(*view.notes, *damage_notes(view.notes), *report.notes),
        tables={**view.tables, report.checks.spec.name: report.checks},
    )


def run_view(
    spec: ViewSpec,
    traces: Mapping[str, Trace],
    selection: Selection,
    left_out: tuple[Note, ...] = (),
    parameters: Mapping[str, str] = MappingProxyType({}),
) -> View:
    """A ``run`` view of all workers, if at least one has data for it: a worker that never
    communicates, for instance, is still part of the run. With the findings of comparing the workers
    where the view has them. ``traces`` is not empty, ``left_out`` names the missing workers.
    ``parameters`` (key → text) may include undeclared ones, which are ignored.

    Raises:
        RequestError: no worker has data; the message says why.
        SelectionError: as the view.
    """
    selection, phase_notes = drop_unsupported_phase(spec, selection)
    traces = split_ranks(traces, selection.iterations_by, key_operator_instances)
    check_available(spec, _missing_reasons(spec, traces))
    values = given_values(spec.parameters, parameters)
    view = cast(RunView, spec.function)(traces, selection, **values)
    notes = left_out + view.notes
    if spec.has_findings:
        notes += damage_notes(notes) + detect_across_workers(traces, selection)
    notes = phase_notes + cut_notes_of_ranks(traces) + notes
    return localize_device_terms(traces, replace(view, notes=notes, answer=spec.answer(view)))


def _missing_reasons(spec: ViewSpec, traces: Mapping[str, Trace]) -> list[str | None]:
    """Why the workers of a run have nothing to show; a None where one, or all together, have."""
    reasons: list[str | None] = []
    for trace in traces.values():
        reasons.append(missing_reason_of(spec, trace))
        if reasons[-1] is None:  # of thousands of workers the first one is enough
            return reasons
    if spec.missing_in_run is not None:
        reasons = [spec.missing_in_run(traces)]
    return reasons


def with_rows(view: View, rows: TableQuery) -> View:
    """``view`` with one table sorted, filtered and cut, and only the requested ones of the others.

    Raises:
        UnknownError: there is no such table.
        QueryError: as :func:`views.querying.query`.
    """
    for name in (*rows.only, *filter(None, [rows.table])):
        if name not in view.tables:
            raise unknown("table", name, view.tables)
    if rows.only:
        view = replace(view, tables={name: view.tables[name] for name in rows.only})
        if rows.table and rows.table not in view.tables:
            raise RequestError("bad_parameter", f"only leaves out table {rows.table!r}.")
    if not view.tables or (rows.changes_nothing and not rows.table):
        return view
    name = rows.table or next(iter(view.tables))
    if rows.changes_nothing:
        return replace(view, tables={**view.tables, name: complete(view.tables[name])})
    table = query(
        view.tables[name],
        sort=rows.sort,
        filter=rows.filter,
        offset=rows.offset,
        limit=rows.limit,
    )
    return replace(view, tables={**view.tables, name: table})


def _run_result(
    catalog: Catalog, spec: ViewSpec, subject: Subject, wait_s: float | None
) -> ViewResult:
    files = list(catalog.workers(subject.run, subject.span, wait_s=wait_s).values())
    by = parse_split_by(subject.selection.iterations_by).kind
    part: Part = "summary" if spec.reads_summaries and by in ("steps", "default") else "trace"
    opened, failed = open_what_fits(catalog, [(file, part) for file in files], wait_s)
    if by == "default" and part == "summary" and not any(has_recorded_steps(t) for _, t in opened):
        # Only whole traces say whether something is called once per step.
        opened, failed = open_what_fits(catalog, [(file, "trace") for file in files], wait_s)
    if failed and not opened:
        raise failed[0][1]
    traces = {file.worker: trace for file, trace in opened}
    join_topology(files, traces.values())
    others = list(accompanying_files(files, spec.accompanied_by))
    if others:
        also, broken = open_what_fits(catalog, [(file, part) for file in others], wait_s)
        traces |= {file.location.url: trace for file, trace in also}
        failed += broken
    left_out = tuple(_left_out_note(file, error) for file, error in failed)
    view = run_view(spec, traces, subject.selection, left_out, subject.parameters)
    shown_subject = replace(with_names(subject, files[0]), worker=None)
    return ViewResult(spec, view, shown_subject)


def _left_out_note(file: SpanFile, error: LoadingError) -> Note:
    problem = error.problem
    text = f"Worker {file.worker} is left out: {problem.message}"
    evidence: dict[str, object] = {"worker": file.worker, "file": file.location.name}
    return Note("quality", "worker_left_out", "warning", text, {**evidence, "code": problem.code})
