"""The timeline's parameters as typed values, and those that make no sense."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.timeline_questions import (
    FlowsRequest,
    NamesRequest,
    RangeRequest,
    ScreenRequest,
    SearchRequest,
    SliceRequest,
    SummaryRequest,
    TracksRequest,
    flows_request,
    names_request,
    range_request,
    screen_request,
    search_request,
    slice_request,
    summary_request,
    tracks_request,
)

WHERE = Subject("r", "w", "1")
NAMES = {"run": "r", "worker": "w", "span": "1"}
Reader = Callable[[dict[str, str]], object]


@pytest.mark.parametrize(
    ("reader", "given", "expected"),
    [
        (range_request, {}, RangeRequest(WHERE)),
        (range_request, {"start_ns": "-1.5", "end_ns": "2e3"}, RangeRequest(WHERE, -1.5, 2000.0)),
        (screen_request, {"width_px": "800"}, ScreenRequest(RangeRequest(WHERE), 800)),
        (
            screen_request,
            {"width_px": "1", "tracks": "steps:0-2", "end_ns": "7"},
            ScreenRequest(RangeRequest(WHERE, None, 7.0), 1, "steps:0-2"),
        ),
        (tracks_request, {}, TracksRequest(WHERE)),
        (
            tracks_request,
            {"levels": "modules:3,ranges:0"},
            TracksRequest(WHERE, (("modules", 3), ("ranges", 0))),
        ),
        (summary_request, {}, SummaryRequest(RangeRequest(WHERE))),
        (
            summary_request,
            {"start_ns": "1", "tracks": "t0.operators,steps"},
            SummaryRequest(RangeRequest(WHERE, 1.0), "t0.operators,steps"),
        ),
        (slice_request, {"slice": "4"}, SliceRequest(WHERE, 4)),
        (names_request, {"codes": "3,1,2"}, NamesRequest(WHERE, (3, 1, 2))),
        (names_request, {"from": "17"}, NamesRequest(WHERE, None, 17)),
        (names_request, {"from": "0", "codes": "5"}, NamesRequest(WHERE, None, 0)),
        (search_request, {"q": "mm"}, SearchRequest(WHERE, query="mm")),
        (
            search_request,
            {"name_code": "4", "from_slice": "9", "from_ns": "0.5"},
            SearchRequest(WHERE, name_code=4, from_slice=9, from_ns=0.5),
        ),
        (flows_request, {"slice": "4"}, FlowsRequest(WHERE, 4)),
        (flows_request, {"slice": "4", "peers": "1"}, FlowsRequest(WHERE, 4, peers=True)),
    ],
)
def test_parameters_become_questions(
    reader: Reader, given: dict[str, str], expected: object
) -> None:
    assert reader({**NAMES, **given}) == expected


@pytest.mark.parametrize(
    ("reader", "given"),
    [
        (range_request, {"start_ns": "nan"}),
        (range_request, {"end_ns": "1e30"}),
        (screen_request, {}),
        (screen_request, {"width_px": "4001"}),
        (screen_request, {"width_px": "9", "tracks": "x" * 70_000}),
        (summary_request, {"tracks": "x" * 70_000}),
        (tracks_request, {"levels": "frames:3"}),
        (tracks_request, {"levels": "modules:9"}),
        (tracks_request, {"levels": "modules"}),
        (slice_request, {}),
        (names_request, {}),
        (names_request, {"codes": "1,-1"}),
        (names_request, {"codes": ",".join("1" * 501)}),
        (names_request, {"from": "-1"}),
        (search_request, {"from_slice": "x"}),
        (flows_request, {}),
    ],
)
def test_what_makes_no_sense_is_refused(reader: Reader, given: dict[str, str]) -> None:
    with pytest.raises(RequestError) as refusal:
        reader(given)
    assert refusal.value.problem.code == "bad_parameter"
