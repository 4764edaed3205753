"""Open the traces that the names of a run, worker and span select."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from torch_tb_profiler.analysis.operators.key_operators import key_operator_instances
from torch_tb_profiler.analysis.selection import Selection, SelectionError, UnusableRecordingError
from torch_tb_profiler.analysis.steps.iterations.split import UnknownKeyNodeError, split_iterations
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.ingest.job import Part
from torch_tb_profiler.loading.status import NotReadyError, combined_status
from torch_tb_profiler.loading.store.trace_store import WantedTrace
from torch_tb_profiler.requests.errors import LoadingError, OpenError, RequestError, unknown
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.views import TraceRef
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.querying import QueryError
from torch_tb_profiler.views.without_times import no_timeline


def subject_trace(
    catalog: Catalog, subject: Subject, wait_s: float | None
) -> tuple[SpanFile, Trace]:
    """The file selected by the names of ``subject``, and its trace.

    Raises:
        LoadingError: there is none, or it cannot be read.
        NotReadyError: it is not parsed in time.
    """
    file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
    return file, open_traces(catalog, [file], wait_s)[0]


def timed_trace(catalog: Catalog, subject: Subject, wait_s: float | None) -> tuple[SpanFile, Trace]:
    """As :func:`subject_trace`, of a recording that has times.

    Raises:
        RequestError: it has none.
        LoadingError, NotReadyError: as :func:`subject_trace`.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    reason = no_timeline(trace)
    if reason is not None:
        raise RequestError("view_unavailable", f"Timeline: {reason}")
    return file, trace


def cut_trace(trace: Trace, selection: Selection) -> Trace:
    """``trace`` with the iterations that ``selection`` asks for as its steps.

    Raises:
        RequestError: what it asks for is malformed.
        UnknownError: there is no such key node.
    """
    with as_bad_parameters():
        return split_iterations(trace, selection.iterations_by, key_operator_instances)


@contextmanager
def as_bad_parameters() -> Iterator[None]:
    """Turn errors of a selection or of requested rows into errors for people."""
    try:
        yield
    except UnknownKeyNodeError as error:
        raise unknown("key_node", error.name, error.known) from error
    except UnusableRecordingError as error:
        raise RequestError("view_unavailable", str(error)) from error
    except (SelectionError, QueryError) as error:
        raise RequestError("bad_parameter", str(error)) from error


def open_traces(catalog: Catalog, files: list[SpanFile], wait_s: float | None) -> list[Trace]:
    """The traces of ``files``, in order.

    Raises:
        NotReadyError: not all are parsed in time.
        OpenError: one of them cannot be read.
    """
    opened, failed = open_what_fits(catalog, [(file, "trace") for file in files], wait_s)
    if failed:
        raise failed[0][1]
    return [trace for _, trace in opened]


def open_what_fits(
    catalog: Catalog, wanted: Sequence[WantedTrace], wait_s: float | None
) -> tuple[list[tuple[SpanFile, Trace]], list[tuple[SpanFile, LoadingError]]]:
    """The open traces (or summaries) of ``wanted``, and those that failed: they cannot be read, or
    do not fit into memory next to those before them.

    Raises:
        NotReadyError: some are still pending after the timeout.
    """
    gathered = catalog.store.gather(wanted, wait_s)
    if not all(each.is_settled for each in gathered):
        raise NotReadyError(
            combined_status(gathered[0].file.span, [each.status for each in gathered])
        )
    opened: list[tuple[SpanFile, Trace]] = []
    failed: list[tuple[SpanFile, LoadingError]] = []
    for each in gathered:
        problem = each.status.error
        if each.trace is not None:
            opened.append((each.file, each.trace))
        elif problem is not None:
            error = OpenError.of(problem)
            failed.append((each.file, error))
    return opened, failed


def run_traces(
    catalog: Catalog, file: SpanFile, wait_s: float | None, among: Collection[str] | None = None
) -> dict[str, Trace]:
    """The summaries of the workers of the run and span of ``file``, by worker; or, for those in
    ``among``, their traces. Traces that cannot be read or do not fit into memory are left out.

    They are requested together with the traces that the same request used before, so that later
    ones do not push out earlier ones.

    Raises:
        NotReadyError: one is not parsed in time.
    """
    files = catalog.workers(file.run, file.span, wait_s=wait_s)
    part: Part = "summary" if among is None else "trace"
    chosen = [other for worker, other in files.items() if among is None or worker in among]
    own: list[WantedTrace] = [(file, "trace")]
    wanted = own + [(other, "summary") for other in files.values()]
    wanted += [(other, part) for other in chosen]
    wanted = list(dict.fromkeys(wanted))
    gathered = dict(zip(wanted, catalog.store.gather(wanted, wait_s), strict=True))
    if not all(each.is_settled for each in gathered.values()):
        raise NotReadyError(combined_status(file.span, [each.status for each in gathered.values()]))
    traces = {other.worker: gathered[other, part].trace for other in chosen}
    return {worker: trace for worker, trace in traces.items() if trace is not None}


def trace_ref(file: SpanFile) -> TraceRef:
    """The trace that an answer is about."""
    return TraceRef(file.run, file.worker, file.span)
