"""The routes of the timeline. Contract: ``docs/architecture.md``, "Timeline"."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from werkzeug.wrappers import Request, Response

from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.reports.json import SCHEMA_VERSION
from torch_tb_profiler.reports.payloads import TraceRef
from torch_tb_profiler.reports.timeline_binary import timeline_bytes
from torch_tb_profiler.reports.timeline_payloads import (
    TimelineClockPayload,
    TimelineClocksAnswer,
    TimelineFlowPayload,
    TimelineFlowsAnswer,
    TimelineNamesAnswer,
    TimelineStepsAnswer,
    TimelineStretchPayload,
)
from torch_tb_profiler.requests.errors import RequestError, UnknownError, unknown
from torch_tb_profiler.server import parameters
from torch_tb_profiler.server.responses import data_response, json_response
from torch_tb_profiler.server.site import Site, opened_trace, opened_workers
from torch_tb_profiler.server.timeline_payloads import (
    flow_payloads,
    range_payload,
    search_payload,
    slice_payload,
    slice_payload_or_none,
    tracks_payload,
)
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.views.timeline.choice import ChoiceError, choose
from torch_tb_profiler.views.timeline.clocks import worker_clocks
from torch_tb_profiler.views.timeline.flows import MAX_FLOWS, flows_of
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.index import timeline as timeline_of
from torch_tb_profiler.views.timeline.peers import MAX_PEERS, is_collective, peers_of, slice_of
from torch_tb_profiler.views.timeline.places import placed
from torch_tb_profiler.views.timeline.range_summary import range_summary
from torch_tb_profiler.views.timeline.screen import View
from torch_tb_profiler.views.timeline.search import Found, codes_matching, find
from torch_tb_profiler.views.timeline.selected import selected_ranges

BINARY_TYPE = "application/octet-stream"
MAX_WIDTH_PX = 4000
MAX_TIME_NS = 2.0**60
"""36 years: sums and differences of such times stay within 64 bits."""

MAX_CODES = 500
MAX_TRACKS_TEXT = 65_536
"""Characters of ``tracks``: 4000 tracks with their lanes."""

TimelinePart = Callable[[Site, Request], Response]


def timeline(site: Site, request: Request, _rest: str) -> Response:
    """One screen of the timeline, binary."""
    made = timeline_of(opened_trace(site, request)[1])
    width_px = parameters.count(request.args, "width_px")
    if width_px is None or not 1 <= width_px <= MAX_WIDTH_PX:
        raise RequestError("bad_parameter", f"width_px: needs a number from 1 to {MAX_WIDTH_PX}.")
    start_ns, end_ns = _range(request, made)
    tracks = request.args.get("tracks") or None
    if tracks is not None and len(tracks) > MAX_TRACKS_TEXT:
        raise RequestError("bad_parameter", f"tracks: {MAX_TRACKS_TEXT} characters are allowed.")
    try:
        choice = choose(made, tracks)
    except ChoiceError as error:
        raise RequestError("bad_parameter", str(error)) from error
    data = timeline_bytes(made, choice, View(start_ns, end_ns, width_px))
    return data_response(request, data, BINARY_TYPE)


def timeline_part(site: Site, request: Request, name: str) -> Response:
    """What goes with the screens, as JSON: ``/timeline/tracks`` and so on."""
    if name not in PARTS:
        raise unknown("route", f"timeline/{name}", [f"timeline/{part}" for part in PARTS])
    return PARTS[name](site, request)


def _tracks(site: Site, request: Request) -> Response:
    file, trace = opened_trace(site, request)
    ref = TraceRef(run=file.run, worker=file.worker, span=file.span)
    return json_response(request, tracks_payload(timeline_of(trace), ref))


def _names(site: Site, request: Request) -> Response:
    trace = opened_trace(site, request)[1]
    codes = (parameters.text(request.args, "codes") or "").split(",")
    if len(codes) > MAX_CODES or not all(_is_number(code) for code in codes):
        message = f"codes: needs up to {MAX_CODES} whole numbers with commas between."
        raise RequestError("bad_parameter", message)
    known = len(trace.strings)
    names = [trace.text(int(code)) if int(code) < known else None for code in codes]
    return json_response(request, TimelineNamesAnswer(schema_version=SCHEMA_VERSION, names=names))


def _range_summary(site: Site, request: Request) -> Response:
    made = timeline_of(opened_trace(site, request)[1])
    start_ns, end_ns = _range(request, made)
    summary = range_summary(made, start_ns, end_ns)
    return json_response(request, range_payload(summary, start_ns, end_ns))


def _search(site: Site, request: Request) -> Response:
    made = timeline_of(opened_trace(site, request)[1])
    query = parameters.text(request.args, "q")
    code = parameters.count(request.args, "name_code")
    from_slice = parameters.count(request.args, "from_slice")
    if from_slice is not None:
        _check_slice(made, from_slice)
    from_ns = _time_ns(request, "from_ns")
    if code is not None and code < len(made.trace.strings):
        codes, query = np.array([code], np.int64), made.trace.text(code) or ""
    elif query is not None:
        codes = codes_matching(made.trace, query)
    else:
        raise RequestError("bad_parameter", "q: what to look for, or the name_code of a name.")
    moment = None if from_ns is None else math.ceil(from_ns) + made.origin_ns
    found = find(made.trace, codes, from_slice=from_slice, from_ns=moment)
    return json_response(request, search_payload(made, query, found))


def _flows(site: Site, request: Request) -> Response:
    file, trace = opened_trace(site, request)
    made = timeline_of(trace)
    slice_id = parameters.count(request.args, "slice")
    if slice_id is None:
        raise RequestError("bad_parameter", "slice: needs the id of a slice.")
    _check_slice(made, slice_id)
    flows = flows_of(trace, slice_id)
    peers, peer_count = _peers(site, file, made, slice_id) if _wants_peers(request) else ([], 0)
    beside = _same_name(made, slice_id)
    body = TimelineFlowsAnswer(
        schema_version=SCHEMA_VERSION,
        slice=slice_payload(placed(made, [slice_id])[0]),
        flow_count=len(flows) + peer_count,
        flows=[*peers, *flow_payloads(made, flows)][:MAX_FLOWS],
        next=slice_payload_or_none(made, beside.following),
        previous=slice_payload_or_none(made, beside.previous),
    )
    return json_response(request, body)


def _steps(site: Site, request: Request) -> Response:
    trace = opened_trace(site, request)[1]
    origin_ns = timeline_of(trace).origin_ns
    try:
        ranges = selected_ranges(trace, parameters.subject(request.args).selection)
    except SelectionError as error:
        raise RequestError("bad_parameter", str(error)) from error
    body = TimelineStepsAnswer(
        schema_version=SCHEMA_VERSION,
        ranges=[
            TimelineStretchPayload(start_ns=start - origin_ns, end_ns=end - origin_ns)
            for start, end in ranges
        ],
    )
    return json_response(request, body)


def _clocks(site: Site, request: Request) -> Response:
    file, _ = opened_trace(site, request)
    clocks = worker_clocks(opened_workers(site, file), file.worker)
    body = TimelineClocksAnswer(
        schema_version=SCHEMA_VERSION,
        trace=TraceRef(run=file.run, worker=file.worker, span=file.span),
        workers=[
            TimelineClockPayload(
                worker=clock.worker, offset_ns=clock.offset_ns, collectives=clock.collectives
            )
            for clock in clocks
        ],
    )
    return json_response(request, body)


def _same_name(made: Timeline, slice_id: int) -> Found:
    code = made.trace.slices["name_code"][slice_id]
    return find(made.trace, np.array([code], np.int64), from_slice=slice_id)


def _wants_peers(request: Request) -> bool:
    return request.args.get("peers") == "1"


def _peers(
    site: Site, file: SpanFile, made: Timeline, slice_id: int
) -> tuple[list[TimelineFlowPayload], int]:
    """Arrows to the same collective on other workers, those times moved so that all end together,
    and how many workers have it.

    Workers whose file cannot be read are left out. Of many workers only those that arrived last
    are told: for each a trace is opened.
    """
    if not is_collective(made.trace, slice_id):
        return [], 0
    summaries = opened_workers(site, file)
    if file.worker not in summaries:
        return [], 0
    peers = peers_of(summaries, file.worker, made.trace, slice_id)
    order = list(summaries)
    told = sorted(peers[:MAX_PEERS], key=lambda peer: order.index(peer.worker))
    traces = opened_workers(site, file, {peer.worker for peer in told})
    own = placed(made, [slice_id])[0]
    arrows = []
    for peer in told:
        found = slice_of(peer, traces[peer.worker]) if peer.worker in traces else None
        if found is None:
            continue
        there = placed(timeline_of(traces[peer.worker]), [found])[0]
        moved_ns = own.start_ns + own.dur_ns - there.dur_ns - there.start_ns
        arrows.append(
            TimelineFlowPayload(
                kind="collective",
                source=slice_payload(own),
                target=slice_payload(replace(there, start_ns=there.start_ns + moved_ns)),
                worker=peer.worker,
                moved_ns=moved_ns,
            )
        )
    return arrows, len(peers)


def _range(request: Request, made: Timeline) -> tuple[int, int]:
    """Whole ns that hold ``start_ns`` to ``end_ns``; what is not given is that of the trace."""
    start, end = _time_ns(request, "start_ns"), _time_ns(request, "end_ns")
    start_ns = 0 if start is None else math.floor(start)
    end_ns = made.end_ns + 1 if end is None else math.ceil(end)
    if end_ns <= start_ns:
        raise RequestError("bad_parameter", "end_ns must lie after start_ns.")
    return start_ns, end_ns


def _time_ns(request: Request, name: str) -> float | None:
    value = parameters.text(request.args, name)
    if value is None:
        return None
    try:
        time_ns = float(value)
    except ValueError:
        time_ns = math.nan
    if not abs(time_ns) <= MAX_TIME_NS:
        message = f"{name}: {value[:40]!r} is no time in nanoseconds."
        raise RequestError("bad_parameter", message)
    return time_ns


def _check_slice(made: Timeline, slice_id: int) -> None:
    count = made.trace.slices.height
    if slice_id >= count:
        message = f"There is no slice {slice_id}; this trace has {count}."
        raise UnknownError("unknown_slice", message)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


PARTS: dict[str, TimelinePart] = {
    "tracks": _tracks,
    "names": _names,
    "range": _range_summary,
    "search": _search,
    "flows": _flows,
    "steps": _steps,
    "clocks": _clocks,
}
"""Last part of the path → what answers it."""
