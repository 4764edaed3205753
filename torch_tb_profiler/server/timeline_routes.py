"""The routes of the timeline. Contract: ``docs/internals.md``, "Timeline".

A new part is an entry in :data:`PARTS`: the function that parses its parameters and the one that
answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries import timeline as queries
from torch_tb_profiler.loading.queries import timeline_panels as panels
from torch_tb_profiler.reports.timeline_binary import timeline_bytes
from torch_tb_profiler.requests import timeline_questions as questions
from torch_tb_profiler.requests.encoding import Answer
from torch_tb_profiler.requests.errors import unknown
from torch_tb_profiler.requests.parameters import Parameters, subject
from torch_tb_profiler.server.responses import data_response, json_response
from torch_tb_profiler.server.site import WAIT_S, Site

BINARY_TYPE = "application/octet-stream"

Question = TypeVar("Question")


class TimelinePart(Struct, Generic[Question], frozen=True):
    """How the parameters of a part are parsed, and how it is answered."""

    read: Callable[[Parameters], Question]
    answer: Callable[[Catalog, Question, float | None], Answer]


def timeline(site: Site, request: Request, _rest: str) -> Response:
    """One screen of the timeline, binary."""
    question = questions.screen_request(request.args)
    shown, choice, viewport = queries.screen_request(site.catalog, question, WAIT_S)
    return data_response(request, timeline_bytes(shown, choice, viewport), BINARY_TYPE)


def timeline_part(site: Site, request: Request, name: str) -> Response:
    """The other parts of the timeline as JSON: ``/timeline/tracks`` and so on."""
    if name not in PARTS:
        raise unknown("route", f"timeline/{name}", [f"timeline/{part}" for part in PARTS])
    part = PARTS[name]
    return json_response(request, part.answer(site.catalog, part.read(request.args), WAIT_S))


PARTS: dict[str, TimelinePart[Any]] = {
    "tracks": TimelinePart(questions.tracks_request, queries.tracks_answer),
    "names": TimelinePart(questions.names_request, queries.names_answer),
    "range": TimelinePart(questions.summary_request, panels.range_answer),
    "gaps": TimelinePart(questions.range_request, panels.gaps_answer),
    "critical_path": TimelinePart(questions.range_request, panels.path_answer),
    "namesakes": TimelinePart(questions.slice_request, panels.namesakes_answer),
    "search": TimelinePart(questions.search_request, queries.search_answer),
    "flows": TimelinePart(questions.flows_request, queries.flows_answer),
    "steps": TimelinePart(subject, queries.steps_answer),
    "clocks": TimelinePart(subject, queries.clocks_answer),
}
"""Last path component → the part."""
