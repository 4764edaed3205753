"""What every route knows, and the trace a request is about."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.answering import open_traces
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.ingest.rank import Part
from torch_tb_profiler.loading.status import NotReadyError, joined
from torch_tb_profiler.loading.store.trace_store import Wanted
from torch_tb_profiler.reports.payloads import Face
from torch_tb_profiler.server import parameters
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace

WAIT_S = 0.25
"""A small trace is parsed in this time: the page gets its numbers without asking twice."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all routes know: the catalog, and which face of the product this is."""

    catalog: Catalog
    face: Face


Route = Callable[[Site, Request, str], Response]


def opened_trace(site: Site, request: Request) -> tuple[SpanFile, Trace]:
    """The file that run, worker and span of the request name, and its trace.

    Raises:
        LoadingError: there is none, or it cannot be read.
        NotReadyError: it is still being read.
    """
    about_what = parameters.subject(request.args)
    file = site.catalog.file(about_what.run, about_what.worker, about_what.span, wait_s=WAIT_S)
    return file, open_traces(site.catalog, [file], WAIT_S)[0]


def opened_workers(
    site: Site, file: SpanFile, among: Collection[str] | None = None
) -> dict[str, Trace]:
    """The summaries of the workers of the run and span of ``file``, by worker; or, of those in
    ``among``, their traces. What cannot be read or does not fit into memory is left out.

    They are asked for together with what the same request has looked at before, so that what
    comes later does not push out what came first.

    Raises:
        NotReadyError: one is still being read.
    """
    files = site.catalog.workers(file.run, file.span, wait_s=WAIT_S)
    part: Part = "summary" if among is None else "trace"
    chosen = [fellow for worker, fellow in files.items() if among is None or worker in among]
    own: list[Wanted] = [(file, "trace")]
    wanted = own + [(fellow, "summary") for fellow in files.values()]
    wanted += [(fellow, part) for fellow in chosen]
    wanted = list(dict.fromkeys(wanted))
    gathered = dict(zip(wanted, site.catalog.store.gather(wanted, WAIT_S), strict=True))
    if not all(each.is_settled for each in gathered.values()):
        raise NotReadyError(joined(file.span, [each.status for each in gathered.values()]))
    traces = {fellow.worker: gathered[fellow, part].trace for fellow in chosen}
    return {worker: trace for worker, trace in traces.items() if trace is not None}
