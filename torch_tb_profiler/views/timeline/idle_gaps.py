"""When a GPU ran nothing: for how long, why, between what, and what the host did meanwhile.

A cause is that of most of the gap (``docs/metrics.md#idle-devices``): causes are those of moments
in which no device works, so that of several GPUs one may wait while another works.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.intervals import clip, total_within
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import CAUSE_TITLES, IdleCause
from torch_tb_profiler.analysis.idle.host_in_gaps import launching_tracks
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.lane_sums import NameTime, top_names
from torch_tb_profiler.views.timeline.merged import device_activity
from torch_tb_profiler.views.timeline.placed_slices import PlacedSlice, placed

GAP_NAMES = 3
MAX_LISTED = 100
"""Gaps listed with all that is known of them; of 450 000 slices one takes half a millisecond."""

ELSEWHERE = "another device is busy"


class Gap(Struct, frozen=True):
    """A time in which a GPU ran nothing, and what the host thread that feeds it did meanwhile.

    ``thread`` is the one that launches most of its work. Times from the origin.
    """

    device: int
    start_ns: int
    end_ns: int
    thread: str | None
    host: list[NameTime]


class CauseTime(Struct, frozen=True):
    """How much of a gap one cause explains."""

    cause: str
    dur_us: float


class IdleGap(Struct, frozen=True):
    """A gap with its causes, longest first, and the work right before and after it on its GPU;
    null where the recording begins or ends with it."""

    gap: Gap
    causes: list[CauseTime]
    before: PlacedSlice | None
    after: PlacedSlice | None


class IdleGaps(Struct, frozen=True):
    """The longest gaps of a range, longest first, how many there are, and their time together."""

    gaps: list[IdleGap]
    count: int
    total_us: float


class Span(NamedTuple):
    """A gap of a device, from the origin."""

    device: int
    start_ns: int
    end_ns: int


class Spans(NamedTuple):
    """The longest gaps, how many there are, and their time together in ns."""

    longest: list[Span]
    all_count: int
    total_ns: int


def longest_gaps(
    timeline: Timeline, start_ns: int, end_ns: int, limit: int, devices: Collection[int] | None
) -> Spans:
    """The longest gaps of some GPUs (None: of all) inside a range, cut at its edges."""
    origin = timeline.origin_ns
    spans: list[Span] = []
    count = total_ns = 0
    for device, times in device_activity(timeline.trace).items():
        if devices is not None and device not in devices:
            continue
        idle = clip(times.idle, start_ns + origin, end_ns + origin)
        lengths = idle.end_ns - idle.start_ns
        count += len(lengths)
        total_ns += int(lengths.sum())
        longest = np.argsort(-lengths, kind="stable")[:limit]
        begun, ended = (edge[longest] - origin for edge in idle)
        spans += map(Span, [device] * len(longest), begun.tolist(), ended.tolist())
    spans.sort(key=lambda span: span.start_ns - span.end_ns)
    return Spans(spans[:limit], count, total_ns)


def described(timeline: Timeline, spans: list[Span]) -> list[Gap]:
    """Gaps with what the host did meanwhile."""
    tracks = launching_tracks(timeline.trace)
    return [_gap(timeline, tracks.get(span.device), *span) for span in spans]


def idle_gaps(timeline: Timeline, start_ns: int, end_ns: int, limit: int = MAX_LISTED) -> IdleGaps:
    """The longest gaps of all GPUs inside a range, from the origin."""
    spans = longest_gaps(timeline, start_ns, end_ns, limit, None)
    longest = spans.longest
    parts = zip(
        described(timeline, longest),
        _causes(timeline, longest),
        *_neighbours(timeline, longest),
        strict=True,
    )
    return IdleGaps(
        [IdleGap(*each) for each in parts], spans.all_count, exact_microseconds(spans.total_ns)
    )


def _gap(timeline: Timeline, row: int | None, device: int, start_ns: int, end_ns: int) -> Gap:
    host: list[NameTime] = []
    title = None
    for kind in ("operators", "runtime", "python"):
        for number, track in enumerate(timeline.tracks):
            if row is None or timeline.rows.get(track.key) != row or track.kind != kind or host:
                continue
            title = track.title
            lanes = np.flatnonzero(timeline.lanes.track == number)
            host = top_names(timeline, lanes, start_ns, end_ns, GAP_NAMES)
    return Gap(device, start_ns, end_ns, title, host)


def _causes(timeline: Timeline, spans: list[Span]) -> list[list[CauseTime]]:
    """Per gap its causes, longest first."""
    starts, ends = _edges(timeline, spans)
    titles = [CAUSE_TITLES[cause] for cause in IdleCause] + [ELSEWHERE]
    parts = [total_within(each, starts, ends) for each in idle_causes(timeline.trace).intervals]
    cause_ns = np.stack([*parts, np.zeros(len(spans), np.int64)])
    cause_ns[-1] = ends - starts - cause_ns.sum(axis=0)
    order = np.argsort(-cause_ns, axis=0, kind="stable")
    return [
        [
            CauseTime(titles[cause], exact_microseconds(int(cause_ns[cause, gap])))
            for cause in order[:, gap].tolist()
            if cause_ns[cause, gap] > 0
        ]
        for gap in range(len(spans))
    ]


def _neighbours(
    timeline: Timeline, spans: list[Span]
) -> tuple[list[PlacedSlice | None], list[PlacedSlice | None]]:
    """Per gap the work that ends where it starts, and the first that starts where it ends."""
    starts, ends = _edges(timeline, spans)
    device = np.array([span.device for span in spans], np.int64)
    before, after = np.full(len(spans), -1), np.full(len(spans), -1)
    work = timeline.trace.device_work
    work = work.filter((pl.col("dur_ns") > 0) & pl.col("device").is_not_null())
    for number in distinct_values(device).tolist():
        own = work.filter(pl.col("device") == number)
        ids, begun = own["slice"].to_numpy(), own["start_ns"].to_numpy()
        ended = begun + own["dur_ns"].to_numpy()
        here = np.flatnonzero(device == number)
        before[here] = _at(ids, ended, starts[here])
        after[here] = _at(ids, begun, ends[here])
    return _placed(timeline, before), _placed(timeline, after)


def _at(ids: Int64, times_ns: Int64, moments_ns: Int64) -> Int64:
    """Per moment the first of the slices whose time it is; -1 for none."""
    if not len(ids):
        return np.full(len(moments_ns), -1)
    order = np.argsort(times_ns, kind="stable")
    at = np.minimum(np.searchsorted(times_ns[order], moments_ns), len(ids) - 1)
    slices_at: Int64 = np.where(times_ns[order][at] == moments_ns, ids[order][at], -1)
    return slices_at


def _edges(timeline: Timeline, spans: list[Span]) -> tuple[Int64, Int64]:
    """Starts and ends of gaps in times of the trace."""
    edges = np.array([span[1:] for span in spans], np.int64).reshape(-1, 2) + timeline.origin_ns
    return edges[:, 0], edges[:, 1]


def _placed(timeline: Timeline, ids: Int64) -> list[PlacedSlice | None]:
    known = iter(placed(timeline, ids[ids >= 0]))
    return [next(known) if slice_id >= 0 else None for slice_id in ids.tolist()]
