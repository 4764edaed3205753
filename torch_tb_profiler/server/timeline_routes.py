"""The routes of the timeline. Contract: ``docs/architecture.md``, "Timeline"."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries import timeline as queries
from torch_tb_profiler.reports.timeline_binary import timeline_bytes
from torch_tb_profiler.requests import timeline_questions as questions
from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import unknown
from torch_tb_profiler.requests.parameters import Parameters, subject
from torch_tb_profiler.server.responses import data_response, json_response
from torch_tb_profiler.server.site import WAIT_S, Site

BINARY_TYPE = "application/octet-stream"

TimelinePart = Callable[[Catalog, Parameters], Answer]


def timeline(site: Site, request: Request, _rest: str) -> Response:
    """One screen of the timeline, binary."""
    asked = questions.screen_request(request.args)
    shown, choice, part = queries.screen_question(site.catalog, asked, WAIT_S)
    return data_response(request, timeline_bytes(shown, choice, part), BINARY_TYPE)


def timeline_part(site: Site, request: Request, name: str) -> Response:
    """What goes with the screens, as JSON: ``/timeline/tracks`` and so on."""
    if name not in PARTS:
        raise unknown("route", f"timeline/{name}", [f"timeline/{part}" for part in PARTS])
    return json_response(request, PARTS[name](site.catalog, request.args))


PARTS: dict[str, TimelinePart] = {
    "tracks": lambda catalog, given: queries.tracks_answer(catalog, subject(given), WAIT_S),
    "names": lambda catalog, given: queries.names_answer(
        catalog, questions.names_request(given), WAIT_S
    ),
    "range": lambda catalog, given: queries.range_answer(
        catalog, questions.range_request(given), WAIT_S
    ),
    "search": lambda catalog, given: queries.search_answer(
        catalog, questions.search_request(given), WAIT_S
    ),
    "flows": lambda catalog, given: queries.flows_answer(
        catalog, questions.flows_request(given), WAIT_S
    ),
    "steps": lambda catalog, given: queries.steps_answer(catalog, subject(given), WAIT_S),
    "clocks": lambda catalog, given: queries.clocks_answer(catalog, subject(given), WAIT_S),
}
"""Last part of the path → what answers it."""
