"""Answer requests of the timeline."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.slices import check_slice
from torch_tb_profiler.loading.queries.traces import (
    as_bad_parameters,
    cut_trace,
    open_what_fits,
    run_traces,
    timed_trace,
    trace_ref,
)
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.timeline import (
    TimelineClocksAnswer,
    TimelineFlowPayload,
    TimelineFlowsAnswer,
    TimelineNamePageAnswer,
    TimelineNamesAnswer,
    TimelineSearchAnswer,
    TimelineStepPayload,
    TimelineStepsAnswer,
    TimelineStretchPayload,
    TimelineTracksAnswer,
)
from torch_tb_profiler.requests.timeline_questions import (
    FlowsRequest,
    NamesRequest,
    RangeRequest,
    ScreenRequest,
    SearchRequest,
    TracksRequest,
)
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.bands import band
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.choice import Choice, ChoiceError, choose
from torch_tb_profiler.views.timeline.clocks import worker_clocks, worker_groups
from torch_tb_profiler.views.timeline.flows import MAX_FLOWS, Flow, flows_of
from torch_tb_profiler.views.timeline.follow import Step, step_back, step_onward
from torch_tb_profiler.views.timeline.index import Timeline, timeline
from torch_tb_profiler.views.timeline.levels import with_levels
from torch_tb_profiler.views.timeline.names import name_text, names_from
from torch_tb_profiler.views.timeline.peers import MAX_PEERS, is_collective, peers_of, slice_of
from torch_tb_profiler.views.timeline.placed_slices import PlacedSlice, placed
from torch_tb_profiler.views.timeline.screen import Viewport
from torch_tb_profiler.views.timeline.search import MAX_NAME_CODES, codes_matching, find
from torch_tb_profiler.views.timeline.selected import selected_ranges, selected_text

MAX_TRACKS = 5000
"""Tracks that are listed: more than any real trace has."""


def tracks_answer(
    catalog: Catalog, request: TracksRequest, wait_s: float | None
) -> TimelineTracksAnswer:
    """The tracks to draw.

    Raises:
        LoadingError, NotReadyError: as ``queries.traces.timed_trace``; so for all functions here.
        UnknownError, RequestError: the trace has no such key node to split it by.
    """
    file, trace = timed_trace(catalog, request.subject, wait_s)
    # Report an invalid split before anything is drawn.
    cut_trace(trace, request.subject.selection)
    shown = _with_levels(trace, request.levels)
    return TimelineTracksAnswer(
        trace=trace_ref(file),
        end_ns=shown.end_ns,
        origin_us=exact_microseconds(shown.origin_ns),
        slices=trace.slices.height,
        overlapping=shown.overlapping,
        tracks_left_out=shown.counters_left_out + max(0, len(shown.tracks) - MAX_TRACKS),
        categories=CATEGORIES,
        groups=shown.groups,
        tracks=shown.tracks[:MAX_TRACKS],
    )


def screen_request(
    catalog: Catalog, request: ScreenRequest, wait_s: float | None
) -> tuple[Timeline, Choice, Viewport]:
    """The timeline, the lanes that a screen shows, and the part of time.

    Raises:
        RequestError: the range is empty, or the tracks are not those of the timeline.
    """
    if request.band:
        shown = band(_summary(catalog, request.range.subject, wait_s))
    else:
        trace = timed_trace(catalog, request.range.subject, wait_s)[1]
        shown = _with_levels(trace, request.levels)
    start_ns, end_ns = whole_range(request.range, shown)
    choice = chosen_lanes(shown, request.tracks)
    return shown, choice, Viewport(start_ns, end_ns, request.width_px)


def _summary(catalog: Catalog, subject: Subject, wait_s: float | None) -> Trace:
    """The summary of a rank: enough for its band."""
    file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
    opened, failed = open_what_fits(catalog, [(file, "summary")], wait_s)
    if failed:
        raise failed[0][1]
    return opened[0][1]


def _with_levels(trace: Trace, levels: tuple[tuple[str, int], ...]) -> Timeline:
    return with_levels(trace, dict(levels)) if levels else timeline(trace)


def chosen_lanes(shown: Timeline, tracks: str | None) -> Choice:
    """The lanes that a list of tracks selects.

    Raises:
        RequestError: the tracks are not those of the timeline.
    """
    try:
        return choose(shown, tracks)
    except ChoiceError as error:
        raise RequestError("bad_parameter", str(error)) from error


def names_answer(
    catalog: Catalog, request: NamesRequest, wait_s: float | None
) -> TimelineNamesAnswer | TimelineNamePageAnswer:
    """The names of codes."""
    trace = timed_trace(catalog, request.subject, wait_s)[1]
    if request.codes is None:
        page = names_from(trace, request.from_code)
        return TimelineNamePageAnswer(
            codes=page.codes,
            names=page.names,
            next=page.next_code,
            short_names=page.short_names,
            demangled_names=page.demangled_names,
        )
    others = kernel_names(trace)
    return TimelineNamesAnswer(
        names=[name_text(trace, code) for code in request.codes],
        short_names=[others.short_text(code) for code in request.codes],
        demangled_names=[others.demangled_text(code) for code in request.codes],
    )


def search_answer(
    catalog: Catalog, request: SearchRequest, wait_s: float | None
) -> TimelineSearchAnswer:
    """The results of a search, and their neighbours of the starting point.

    Raises:
        RequestError: it has neither a query nor a name code.
        UnknownError: there is no slice to start from.
    """
    trace = timed_trace(catalog, request.subject, wait_s)[1]
    shown = timeline(trace)
    if request.from_slice is not None:
        check_slice(trace, request.from_slice)
    code, query = request.name_code, request.query
    if code is not None and code < len(trace.strings):
        codes, query = np.array([code], np.int64), trace.text(code) or ""
    elif query is not None:
        codes = codes_matching(trace, query)
    else:
        raise RequestError("bad_parameter", "q: what to look for, or the name_code of a name.")
    moment = None if request.from_ns is None else math.ceil(request.from_ns) + shown.origin_ns
    hits = find(trace, codes, from_slice=request.from_slice, from_ns=moment)
    return TimelineSearchAnswer(
        query=query,
        count=hits.count,
        position=hits.position,
        name_count=hits.name_count,
        name_codes=codes.tolist() if len(codes) <= MAX_NAME_CODES else None,
        names=hits.names,
        hits=placed(shown, hits.hits),
        next=_placed_or_none(shown, hits.following),
        previous=_placed_or_none(shown, hits.previous),
    )


def flows_answer(
    catalog: Catalog, request: FlowsRequest, wait_s: float | None
) -> TimelineFlowsAnswer:
    """A slice, its arrows, and its neighbours with the same name.

    Raises:
        UnknownError: there is no such slice.
    """
    file, trace = timed_trace(catalog, request.subject, wait_s)
    shown = timeline(trace)
    check_slice(trace, request.slice)
    flows = flows_of(trace, request.slice)
    peers = NO_PEERS
    if request.peers and is_collective(trace, request.slice):
        peers = _peers(catalog, file, shown, request.slice, wait_s)
    name = trace.slices["name_code"][request.slice]
    same_name = find(trace, np.array([name], np.int64), from_slice=request.slice)
    return TimelineFlowsAnswer(
        slice=placed(shown, [request.slice])[0],
        flow_count=len(flows) + peers.worker_count,
        flows=[*peers.arrows, *_arrows(shown, flows)][:MAX_FLOWS],
        onward=peers.next_rank or _step(shown, step_onward(trace, request.slice)),
        back=_step(shown, step_back(trace, request.slice)),
        next=_placed_or_none(shown, same_name.following),
        previous=_placed_or_none(shown, same_name.previous),
    )


def steps_answer(catalog: Catalog, subject: Subject, wait_s: float | None) -> TimelineStepsAnswer:
    """The time ranges of the selected steps.

    Raises:
        RequestError: the selection is malformed, or names a missing step.
    """
    trace = timed_trace(catalog, subject, wait_s)[1]
    origin_ns = timeline(trace).origin_ns
    with as_bad_parameters():
        split = cut_trace(trace, subject.selection)
        ranges = selected_ranges(split, subject.selection)
        steps = selected_text(split, subject.selection)
    return TimelineStepsAnswer(
        steps=steps,
        ranges=[
            TimelineStretchPayload(start_ns - origin_ns, end_ns - origin_ns)
            for start_ns, end_ns in ranges
        ],
    )


def clocks_answer(catalog: Catalog, subject: Subject, wait_s: float | None) -> TimelineClocksAnswer:
    """The workers of the run on the clock of one of them."""
    file, _ = timed_trace(catalog, subject, wait_s)
    summaries = run_traces(catalog, file, wait_s)
    return TimelineClocksAnswer(
        trace=trace_ref(file),
        workers=worker_clocks(summaries, file.worker),
        groups=worker_groups(summaries, file.worker),
    )


def whole_range(request: RangeRequest, shown: Timeline) -> tuple[int, int]:
    """Whole ns that contain the range; missing bounds are those of the trace.

    Raises:
        RequestError: the range is empty.
    """
    start_ns = 0 if request.start_ns is None else math.floor(request.start_ns)
    end_ns = shown.end_ns + 1 if request.end_ns is None else math.ceil(request.end_ns)
    if end_ns <= start_ns:
        raise RequestError("bad_parameter", "end_ns must lie after start_ns.")
    return start_ns, end_ns


def _placed_or_none(shown: Timeline, slice_id: int | None) -> PlacedSlice | None:
    return None if slice_id is None else placed(shown, [slice_id])[0]


def _arrows(shown: Timeline, flows: list[Flow]) -> list[TimelineFlowPayload]:
    """Arrows between slices of one trace."""
    sources = placed(shown, [flow.source for flow in flows])
    targets = placed(shown, [flow.target for flow in flows])
    ends = zip(flows, sources, targets, strict=True)
    return [TimelineFlowPayload(flow.kind, source, target) for flow, source, target in ends]


def _step(shown: Timeline, step: Step | None) -> TimelineStepPayload | None:
    if step is None:
        return None
    return TimelineStepPayload(step.kind, placed(shown, [step.slice])[0])


class _Peers(NamedTuple):
    """Arrows to the same collective on other workers, whose times are shifted so that all end
    together; how many workers have it; the step to the next rank."""

    arrows: list[TimelineFlowPayload]
    worker_count: int
    next_rank: TimelineStepPayload | None


NO_PEERS = _Peers([], 0, None)


def _peers(
    catalog: Catalog, file: SpanFile, shown: Timeline, slice_id: int, wait_s: float | None
) -> _Peers:
    """The same collective on other workers.

    Workers whose file cannot be read are left out. Of many workers only those that arrived last are
    returned, and the next in order of ranks, the first after the last: each requires an open trace.
    """
    summaries = run_traces(catalog, file, wait_s)
    if file.worker not in summaries:
        return NO_PEERS
    peers = peers_of(summaries, file.worker, shown.trace, slice_id)
    if not peers:
        return NO_PEERS
    order = {worker: number for number, worker in enumerate(summaries)}
    own_number = order[file.worker]
    following = min(peers, key=lambda peer: (order[peer.worker] - own_number) % len(order))
    shown_peers = sorted(peers[:MAX_PEERS], key=lambda peer: order[peer.worker])
    opened = {peer.worker for peer in (*shown_peers, following)}
    traces = run_traces(catalog, file, wait_s, opened)
    twins = {
        peer.worker: placed(timeline(traces[peer.worker]), [twin])[0]
        for peer in (*shown_peers, following)
        if peer.worker in traces and (twin := slice_of(peer, traces[peer.worker])) is not None
    }
    own = placed(shown, [slice_id])[0]
    arrows = []
    for peer in shown_peers:
        if (there := twins.get(peer.worker)) is None:
            continue
        moved_ns = own.start_ns + own.dur_ns - there.dur_ns - there.start_ns
        moved = replace(there, start_ns=there.start_ns + moved_ns)
        arrows.append(TimelineFlowPayload("collective", own, moved, peer.worker, moved_ns))
    there = twins.get(following.worker)
    step = None if there is None else TimelineStepPayload("next_rank", there, following.worker)
    return _Peers(arrows, len(peers), step)
