"""The route of a report to hand on: ``/report.html?run=…&views=operators,kernels``."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.queries.report import (
    comparison_contents,
    report_contents,
)
from torch_tb_profiler.reports.html.document import dumps
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.questions import ViewRequest
from torch_tb_profiler.requests.report import ReportContents
from torch_tb_profiler.server.responses import data_response
from torch_tb_profiler.server.site import WAIT_S, Site
from torch_tb_profiler.views.registry import COMPARISON_VIEW, REPORT_VIEWS
from torch_tb_profiler.views.timeline.notes import parse_notes

HTML_TYPE = "text/html; charset=utf-8"
FILE_NAME = "report.html"


def report(site: Site, request: Request, _rest: str) -> Response:
    """One HTML file of the views that ``views`` names, of the whole trace or a selection; with a
    baseline the comparison."""
    question = parameters.view_request(COMPARISON_VIEW, request.args)
    contents = _contents(site, request, question)
    contents = replace(contents, address=_own_address(request))
    return data_response(request, dumps(contents), HTML_TYPE, file_name=FILE_NAME)


def _contents(site: Site, request: Request, question: ViewRequest) -> ReportContents:
    tables = _names(parameters.text(request.args, "tables"))
    if question.baseline is not None:
        return comparison_contents(site.catalog, question, tables, wait_s=WAIT_S)
    views = _names(parameters.text(request.args, "views")) or REPORT_VIEWS
    notes = parse_notes(parameters.text(request.args, "notes") or "")
    return report_contents(site.catalog, question.subject, views, tables, notes, wait_s=WAIT_S)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _own_address(request: Request) -> str | None:
    """The page that asks, as it says itself: only an address of this server is one, so that a link
    from elsewhere puts none of its own into a report. Without its secrets."""
    address = parameters.text(request.args, "address")
    if address is None:
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or parts.netloc != request.host:
        return None
    return parts._replace(query="").geturl()
