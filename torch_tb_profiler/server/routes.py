"""The routes: each reads its parameters and answers; the app around them does the rest."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from torch_tb_profiler._version import __version__
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.loading.answering import answer
from torch_tb_profiler.reports import csv
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.reports.json import SCHEMA_VERSION
from torch_tb_profiler.reports.payloads import (
    AboutAnswer,
    RunsAnswer,
    TraceRef,
    ViewEntryPayload,
    ViewsAnswer,
)
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.server import parameters
from torch_tb_profiler.server.download import download_response
from torch_tb_profiler.server.errors import HttpError
from torch_tb_profiler.server.payloads import (
    error_payload,
    runs_payload,
    silent_places_payload,
    view_payload,
)
from torch_tb_profiler.server.responses import (
    JSON_TYPE,
    data_response,
    json_response,
    streamed_response,
)
from torch_tb_profiler.server.site import WAIT_S, Route, Site, opened_trace
from torch_tb_profiler.server.slice_details import slice_details
from torch_tb_profiler.server.timeline_routes import timeline, timeline_part
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import ViewSpec, all_views

CSV_TYPE = "text/csv; charset=utf-8"


def about(site: Site, request: Request, _rest: str) -> Response:
    """Who answers, and what it looks at."""
    logdir = ", ".join(place.shown_url for place in site.catalog.places)
    body = AboutAnswer(
        schema_version=SCHEMA_VERSION, version=__version__, logdir=logdir, face=site.face
    )
    return json_response(request, body)


def runs(site: Site, request: Request, _rest: str) -> Response:
    """Every run with its workers and their spans as they are now."""
    contents = site.catalog.contents(WAIT_S)
    body = RunsAnswer(
        schema_version=SCHEMA_VERSION,
        discovering=site.catalog.discovering,
        runs=runs_payload(site.catalog.statuses()),
        notes=list(contents.notes),
        problem=None if contents.problem is None else error_payload(contents.problem),
        silent_places=silent_places_payload(site.catalog.silences),
    )
    return json_response(request, body)


def views(site: Site, request: Request, _rest: str) -> Response:
    """The views of a trace, and why the others are missing."""
    file, trace = opened_trace(site, request)
    workers = list(site.catalog.workers(file.run, file.span, wait_s=WAIT_S).values())
    listed = [_view_entry(site, spec, trace, workers) for spec in all_views().values()]
    return json_response(request, ViewsAnswer(schema_version=SCHEMA_VERSION, views=listed))


def view(site: Site, request: Request, name: str) -> Response:
    """One view as JSON, or one of its tables as CSV."""
    form = request.args.get("format", "json")
    if form not in ("json", "csv"):
        raise HttpError(400, "bad_parameter", f"format: {form[:40]!r} is neither json nor csv.")
    asked = parameters.view_request(name, request.args)
    answered = answer(site.catalog, asked, wait_s=WAIT_S)
    if form == "json":
        return json_response(request, view_payload(answered))
    tables = answered.view.tables
    chosen = asked.rows.table or next(iter(tables), "")
    if chosen not in tables:
        raise unknown("table", chosen, tables)
    data = csv.dumps(tables[chosen])
    return data_response(request, data, CSV_TYPE, file_name=f"{name}_{chosen}.csv")


def slice_(site: Site, request: Request, number: str) -> Response:
    """One event with its arguments, call stack and links."""
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        raise HttpError(400, "bad_parameter", f"{number[:40]!r} is no slice id (a whole number).")
    file, trace = opened_trace(site, request)
    if int(number) >= trace.slices.height:
        message = f"There is no slice {number}; this trace has {trace.slices.height}."
        raise HttpError(404, "unknown_slice", message)
    body = slice_details(trace, int(number))
    ref = TraceRef(run=file.run, worker=file.worker, span=file.span)
    return json_response(request, {"schema_version": SCHEMA_VERSION, "trace": ref, "slice": body})


def download(site: Site, request: Request, _rest: str) -> Response:
    """The trace file as it is."""
    about_what = parameters.subject(request.args)
    file = site.catalog.file(about_what.run, about_what.worker, about_what.span, wait_s=WAIT_S)
    return download_response(request, file.location)


def perfetto(site: Site, request: Request, _rest: str) -> Response:
    """The selection as Chrome JSON with GPU counters, for Perfetto and other viewers."""
    file, trace = opened_trace(site, request)
    selection = parameters.subject(request.args).selection
    try:
        pieces = chrome_json(trace, selection)
    except SelectionError as error:
        raise RequestError("bad_parameter", str(error)) from error
    name = f"{file.run}_{file.worker}_{file.span}.json"
    return streamed_response(request, pieces, JSON_TYPE, file_name=name)


def _view_entry(
    site: Site, spec: ViewSpec, trace: Trace, workers: list[SpanFile]
) -> ViewEntryPayload:
    reason = spec.missing(trace)
    if reason is not None and spec.scope == "run" and _may_have(site, spec, workers):
        reason = None
    return ViewEntryPayload(
        name=spec.name,
        title=spec.title,
        help=spec.help,
        scope=spec.scope,
        available=reason is None,
        reason=reason,
        group_bys=list(spec.group_bys),
    )


def _may_have(site: Site, spec: ViewSpec, workers: list[SpanFile]) -> bool:
    """Whether one of ``workers`` has something for ``spec``, or is not open yet."""
    traces = [site.catalog.store.trace(file) for file in workers]
    return any(trace is None or spec.missing(trace) is None for trace in traces)


ROUTES: dict[str, Route] = {
    "about": about,
    "runs": runs,
    "views": views,
    "download": download,
    "perfetto": perfetto,
    "timeline": timeline,
}
"""Routes without a further part of the path."""

PREFIX_ROUTES: dict[str, Route] = {"view": view, "slice": slice_, "timeline": timeline_part}
"""Routes followed by a name: ``/view/overview``, ``/slice/17``, ``/timeline/tracks``."""
