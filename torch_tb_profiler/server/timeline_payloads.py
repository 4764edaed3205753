"""The timeline's answers in the shapes that ``reports.timeline_payloads`` declares."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.reports.json import SCHEMA_VERSION
from torch_tb_profiler.reports.payloads import TraceRef
from torch_tb_profiler.reports.timeline_payloads import (
    TimelineCategoryPayload,
    TimelineFlowPayload,
    TimelineFoundNamePayload,
    TimelineGapPayload,
    TimelineGpuPayload,
    TimelineGroupPayload,
    TimelineRangeAnswer,
    TimelineSearchAnswer,
    TimelineSlicePayload,
    TimelineTimePayload,
    TimelineTopPayload,
    TimelineTrackPayload,
    TimelineTracksAnswer,
)
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.flows import Flow
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.places import PlacedSlice, placed
from torch_tb_profiler.views.timeline.range_summary import NameTime, RangeSummary
from torch_tb_profiler.views.timeline.search import Found
from torch_tb_profiler.views.timeline.tracks import TimelineTrack

NS_PER_US = 1000
MAX_TRACKS = 5000
"""Tracks a page is told of: more than any real trace has."""


def tracks_payload(timeline: Timeline, ref: TraceRef) -> TimelineTracksAnswer:
    """What there is to draw."""
    return TimelineTracksAnswer(
        schema_version=SCHEMA_VERSION,
        trace=ref,
        end_ns=timeline.end_ns,
        origin_us=timeline.origin_ns / NS_PER_US,
        slices=timeline.trace.slices.height,
        overlapping=timeline.overlapping,
        tracks_left_out=timeline.counters_left_out + max(0, len(timeline.tracks) - MAX_TRACKS),
        categories=[
            TimelineCategoryPayload(key=category.key, title=category.title)
            for category in CATEGORIES
        ],
        groups=[
            TimelineGroupPayload(
                key=group.key, title=group.title, kind=group.kind, device=group.device
            )
            for group in timeline.groups
        ],
        tracks=[_track(track) for track in timeline.tracks[:MAX_TRACKS]],
    )


def _track(track: TimelineTrack) -> TimelineTrackPayload:
    return TimelineTrackPayload(
        key=track.key,
        title=track.title,
        subtitle=track.subtitle,
        help=track.help,
        kind=track.kind,
        group=track.group,
        lanes=track.lanes,
        lane_titles=None if track.lane_titles is None else list(track.lane_titles),
        overlap_from=track.overlap_from,
        slices=track.slices,
        collapsed=track.collapsed,
        communication=track.communication,
        device=track.device,
        unit=track.unit,
        maximum=track.maximum,
    )


def slice_payload(found: PlacedSlice) -> TimelineSlicePayload:
    """One slice and where it is drawn."""
    return TimelineSlicePayload(
        id=found.id,
        name=found.name,
        category=found.category,
        track=found.track,
        lane=found.lane,
        start_ns=found.start_ns,
        dur_ns=found.dur_ns,
    )


def slice_payload_or_none(timeline: Timeline, slice_id: int | None) -> TimelineSlicePayload | None:
    """The same of a slice id, None for none."""
    return None if slice_id is None else slice_payload(placed(timeline, [slice_id])[0])


def range_payload(summary: RangeSummary, start_ns: int, end_ns: int) -> TimelineRangeAnswer:
    """Summary of a range."""
    return TimelineRangeAnswer(
        schema_version=SCHEMA_VERSION,
        start_ns=start_ns,
        end_ns=end_ns,
        categories=[
            TimelineTimePayload(
                category=entry.category,
                is_device=entry.is_device,
                count=entry.count,
                self_us=entry.self_ns / NS_PER_US,
            )
            for entry in summary.categories
        ],
        operators=_tops(summary.operators),
        python=_tops(summary.python),
        kernels=_tops(summary.kernels),
        gpus=[
            TimelineGpuPayload(
                device=gpu.device,
                busy_us=gpu.busy_ns / NS_PER_US,
                computation_us=gpu.computation_ns / NS_PER_US,
                communication_us=gpu.communication_ns / NS_PER_US,
                overlap_us=gpu.overlap_ns / NS_PER_US,
                idle_us=gpu.idle_ns / NS_PER_US,
            )
            for gpu in summary.gpus
        ],
        gaps=[
            TimelineGapPayload(
                device=gap.device,
                start_ns=gap.start_ns,
                end_ns=gap.end_ns,
                thread=gap.thread,
                host=_tops(gap.host),
            )
            for gap in summary.gaps
        ],
        gap_count=summary.gap_count,
    )


def _tops(names: Iterable[NameTime]) -> list[TimelineTopPayload]:
    return [
        TimelineTopPayload(
            name=entry.name,
            count=entry.count,
            self_us=entry.self_ns / NS_PER_US,
            total_us=entry.total_ns / NS_PER_US,
        )
        for entry in names
    ]


def search_payload(timeline: Timeline, query: str, found: Found) -> TimelineSearchAnswer:
    """What a search found."""
    return TimelineSearchAnswer(
        schema_version=SCHEMA_VERSION,
        query=query,
        count=found.count,
        position=found.position,
        name_count=found.name_count,
        names=[
            TimelineFoundNamePayload(name=name.name, code=name.code, count=name.count)
            for name in found.names
        ],
        hits=[slice_payload(hit) for hit in placed(timeline, found.hits)],
        next=slice_payload_or_none(timeline, found.following),
        previous=slice_payload_or_none(timeline, found.previous),
    )


def flow_payloads(timeline: Timeline, flows: list[Flow]) -> list[TimelineFlowPayload]:
    """Arrows between slices of one trace."""
    sources = placed(timeline, [flow.source for flow in flows])
    targets = placed(timeline, [flow.target for flow in flows])
    return [
        TimelineFlowPayload(
            kind=flow.kind,
            source=slice_payload(source),
            target=slice_payload(target),
            worker=None,
            moved_ns=0,
        )
        for flow, source, target in zip(flows, sources, targets, strict=True)
    ]
