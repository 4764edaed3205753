"""What every route knows, and the trace a request is about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.answering import open_traces
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.errors import OpenError
from torch_tb_profiler.loading.ingest import Part
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
    file = site.catalog.file(about_what.run, about_what.worker, about_what.span)
    return file, open_traces(site.catalog, [file], WAIT_S)[0]


def opened_workers(
    site: Site, file: SpanFile, part: Part = "trace", among: Collection[str] | None = None
) -> dict[str, Trace]:
    """The traces (or summaries) of the workers of the run and span of ``file``, by worker; those
    that cannot be read are left out.

    Args:
        site: Where they are.
        file: One of them.
        part: What of them.
        among: Only these workers.

    Raises:
        NotReadyError: one is still being read.
    """
    files = {
        worker: fellow
        for worker, fellow in site.catalog.workers(file.run, file.span).items()
        if among is None or worker in among
    }
    for fellow in files.values():
        site.catalog.store.request(fellow, part)
    opened: dict[str, Trace] = {}
    for worker, fellow in files.items():
        with contextlib.suppress(OpenError):
            opened[worker] = open_traces(site.catalog, [fellow], WAIT_S, part)[0]
    return opened
