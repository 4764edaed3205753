"""The routes: each parses a request, has it answered, and returns the answer as HTTP.

A route is a function here or in ``timeline_routes`` with an entry in :data:`ROUTES` or
:data:`PREFIX_ROUTES`.
"""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from torch_tb_profiler._version import __version__
from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.importers.kineto.native import native_status
from torch_tb_profiler.loading.queries.argument_names import (
    argument_names_answer,
    read_arguments_answer,
)
from torch_tb_profiler.loading.queries.arguments import arguments_answer
from torch_tb_profiler.loading.queries.merged import merge
from torch_tb_profiler.loading.queries.runs import open_answer, part_answer, runs_answer
from torch_tb_profiler.loading.queries.slices import slice_answer
from torch_tb_profiler.loading.queries.traces import cut_trace, timed_trace
from torch_tb_profiler.loading.queries.view_list import views_answer
from torch_tb_profiler.loading.queries.views import view_result
from torch_tb_profiler.reports import csv
from torch_tb_profiler.reports.chrome_merged import merged_json
from torch_tb_profiler.reports.chrome_trace import chrome_json
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.requests.general import AboutAnswer
from torch_tb_profiler.requests.views import view_answer
from torch_tb_profiler.server.download import download_response
from torch_tb_profiler.server.report_route import report
from torch_tb_profiler.server.responses import (
    JSON_TYPE,
    data_response,
    json_response,
    streamed_response,
)
from torch_tb_profiler.server.site import WAIT_S, Route, Site
from torch_tb_profiler.server.sql_routes import sql, sql_part
from torch_tb_profiler.server.timeline_routes import timeline, timeline_part

CSV_TYPE = "text/csv; charset=utf-8"


def about(site: Site, request: Request, _rest: str) -> Response:
    """Version and logdir of this server."""
    logdir = ", ".join(root.shown_url for root in site.catalog.roots)
    answer = AboutAnswer(
        version=__version__,
        decoder=native_status().description,
        logdir=logdir,
        face=site.face,
    )
    return json_response(request, answer)


def runs(site: Site, request: Request, _rest: str) -> Response:
    """All runs with their workers and spans, in their current state."""
    return json_response(request, runs_answer(site.catalog, wait_s=WAIT_S))


def open_(site: Site, request: Request, _rest: str) -> Response:
    """Add a skipped file as a span; only names listed by ``/runs`` are accepted."""
    name = parameters.text(request.args, "name") or ""
    return json_response(request, open_answer(site.catalog, name, wait_s=WAIT_S))


def part(site: Site, request: Request, _rest: str) -> Response:
    """Read only a part of a trace from now on (``only_us`` or ``only_steps``); without both, all
    of it."""
    subject = parameters.subject(request.args)
    chosen = parameters.recording_part(request.args)
    return json_response(request, part_answer(site.catalog, subject, chosen, wait_s=WAIT_S))


def arguments(site: Site, request: Request, _rest: str) -> Response:
    """The arguments that slices have, so that some can be chosen."""
    subject = parameters.subject(request.args)
    return json_response(request, argument_names_answer(site.catalog, subject, wait_s=WAIT_S))


def read_arguments(site: Site, request: Request, _rest: str) -> Response:
    """Read the named arguments of a trace from now on; without names none."""
    subject = parameters.subject(request.args)
    names = parameters.argument_names(request.args)
    answer = read_arguments_answer(site.catalog, subject, names, wait_s=WAIT_S)
    return json_response(request, answer)


def views(site: Site, request: Request, _rest: str) -> Response:
    """The views of a trace, and why the others are missing."""
    subject = parameters.subject(request.args)
    return json_response(request, views_answer(site.catalog, subject, wait_s=WAIT_S))


def view(site: Site, request: Request, name: str) -> Response:
    """One view as JSON, or one of its tables as CSV."""
    form = request.args.get("format", "json")
    if form not in ("json", "csv"):
        raise RequestError("bad_parameter", f"format: {form[:40]!r} is neither json nor csv.")
    view_request = parameters.view_request(name, request.args)
    result = view_result(site.catalog, view_request, wait_s=WAIT_S)
    if form == "json":
        return json_response(request, view_answer(result))
    tables = result.view.tables
    chosen = view_request.rows.table or next(iter(tables), "")
    if chosen not in tables:
        raise unknown("table", chosen, tables)
    data = csv.dumps(tables[chosen])
    return data_response(request, data, CSV_TYPE, file_name=f"{name}_{chosen}.csv")


def slice_(site: Site, request: Request, rest: str) -> Response:
    """One event with its arguments, call stack and links; or, for ``<id>/arguments``, all its
    arguments in the file."""
    number, slash, part = rest.partition("/")
    if slash and part != "arguments":
        raise unknown("route", f"slice/{rest[:80]}", ["slice/<id>", "slice/<id>/arguments"])
    slice_id, subject = parameters.slice_id(number), parameters.subject(request.args)
    if slash:
        return json_response(request, arguments_answer(site.catalog, subject, slice_id, WAIT_S))
    return json_response(request, slice_answer(site.catalog, subject, slice_id, WAIT_S))


def download(site: Site, request: Request, _rest: str) -> Response:
    """The trace file unchanged."""
    subject = parameters.subject(request.args)
    file = site.catalog.file(subject.run, subject.worker, subject.span, wait_s=WAIT_S)
    return download_response(request, file.location)


def perfetto(site: Site, request: Request, _rest: str) -> Response:
    """The selection as Chrome JSON with GPU counters, for Perfetto and other viewers; with
    ``workers`` of several ranks on one clock."""
    subject = parameters.subject(request.args)
    workers = parameters.text(request.args, "workers")
    if workers is not None:
        merged = merge(site.catalog, subject, workers, WAIT_S)
        name = f"{merged.run}_{len(merged.ranks)}_ranks_{merged.span}.json"
        return streamed_response(request, merged_json(merged), JSON_TYPE, file_name=name)
    file, trace = timed_trace(site.catalog, subject, WAIT_S)
    try:
        cut = cut_trace(trace, subject.selection)
        pieces = chrome_json(cut, subject.selection)
    except SelectionError as error:
        raise RequestError("bad_parameter", str(error)) from error
    name = f"{file.run}_{file.worker}_{file.span}.json"
    return streamed_response(request, pieces, JSON_TYPE, file_name=name)


ROUTES: dict[str, Route] = {
    "about": about,
    "runs": runs,
    "open": open_,
    "part": part,
    "arguments": arguments,
    "read_arguments": read_arguments,
    "views": views,
    "download": download,
    "perfetto": perfetto,
    "timeline": timeline,
    "report.html": report,
    "sql": sql,
}
"""Routes without a further path component."""

PREFIX_ROUTES: dict[str, Route] = {
    "view": view,
    "slice": slice_,
    "timeline": timeline_part,
    "sql": sql_part,
}
"""Routes followed by a name: ``/view/overview``, ``/slice/17``, ``/timeline/tracks``,
``/sql/tables``."""
