"""The routes of SQL: ``/sql`` answers a query, ``/sql/tables`` what one can be made of."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError, unknown
from torch_tb_profiler.requests.views import view_answer
from torch_tb_profiler.server.client_connection import is_client_gone
from torch_tb_profiler.server.responses import json_response
from torch_tb_profiler.server.site import WAIT_S, Site
from torch_tb_profiler.sql.limits import MAX_TEXT, SqlLimits
from torch_tb_profiler.sql.listing import tables_answer
from torch_tb_profiler.sql.query import prepare_query

MAX_SERVED_ROWS = 100_000
"""Rows of an answer that a client can ask for."""


def sql(site: Site, request: Request, _rest: str) -> Response:
    """The answer to ``query`` over the workers of a run and span (or ``worker``), as a view with
    one table. Selection, grouping and other parameters of views apply to the views that it names;
    it ends when the client goes away."""
    text = request.args.get("query") or ""
    if len(text) > MAX_TEXT:
        message = f"query has {len(text):,} characters; {MAX_TEXT:,} are possible."
        raise RequestError("sql_text", message)
    limits = _limits(request)
    query = prepare_query(text, limits, partial(is_client_gone, request))
    requested = parameters.subject(request.args)
    workers = site.catalog.workers(requested.run, requested.span, wait_s=WAIT_S)
    if requested.worker is not None and requested.worker not in workers:
        raise unknown("worker", requested.worker, workers)
    files = [file for name, file in workers.items() if requested.worker in (None, name)]
    first = files[0]
    subject = replace(requested, run=first.run, span=first.span)
    result = query.result(site.catalog, files, subject, wait_s=WAIT_S)
    return json_response(request, view_answer(result))


def sql_part(_site: Site, request: Request, rest: str) -> Response:
    """``/sql/tables``: the tables with their columns, examples and limits."""
    if rest != "tables":
        raise unknown("route", f"sql/{rest[:80]}", ["sql", "sql/tables"])
    return json_response(request, tables_answer())


def _limits(request: Request) -> SqlLimits:
    rows = parameters.count(request.args, "max_rows")
    if rows is None:
        return SqlLimits()
    if not 1 <= rows <= MAX_SERVED_ROWS:
        message = f"max_rows: {rows} is no number from 1 to {MAX_SERVED_ROWS}."
        raise RequestError("bad_parameter", message, "The command line and the API have more.")
    return replace(SqlLimits(), rows=rows)
