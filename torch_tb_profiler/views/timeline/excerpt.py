"""A range of the timeline track by track: how busy each was, and its largest slices in order.

Self time is what no slice one lane below covers, cut at the edges (:mod:`.range_parts`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.lane_sums import NameTime
from torch_tb_profiler.views.timeline.names import name_text
from torch_tb_profiler.views.timeline.range_parts import LanePart, parts_in_range
from torch_tb_profiler.views.timeline.tracks import TimelineTrack

LEAST_SHARE = 0.001
"""Of the range, of the self time of a slice that is listed: shorter ones are summed by name."""
OTHER_NAMES = 4


class ExcerptSlice(Struct, frozen=True):
    """A slice in the range; times in ns, those of its start from the origin of the timeline.

    Attributes:
        name: Its name as recorded, of a kernel the short form.
        depth: How many slices of its track are around it.
        start_ns: Its start, which may lie before the range.
        dur_ns: Its whole duration.
        self_ns: Its time inside the range that no slice below covers.
    """

    name: str
    depth: int
    start_ns: int
    dur_ns: int
    self_ns: int


class TrackExcerpt(Struct, frozen=True):
    """One track in the range.

    Attributes:
        track: The track.
        busy_ns: Time inside the range in which it has a slice.
        count: Slices that overlap the range.
        largest: The slices with most self time, in order of start.
        others: The names with most self time among the remaining slices.
    """

    track: TimelineTrack
    busy_ns: int
    count: int
    largest: list[ExcerptSlice]
    others: list[NameTime]


def excerpt(
    timeline: Timeline, start_ns: int, end_ns: int, tracks: Collection[int], limit: int
) -> list[TrackExcerpt]:
    """What ``tracks`` did in ``[start_ns, end_ns)``, from the origin.

    Args:
        timeline: The timeline.
        start_ns: Start of the range.
        end_ns: End of the range, not included.
        tracks: Numbers of tracks that hold slices, in the order of the answer.
        limit: Slices that are listed of each track, of those with a share of the range of
            :data:`LEAST_SHARE` or more.
    """
    return [_of_track(timeline, start_ns, end_ns, number, limit) for number in tracks]


def _of_track(
    timeline: Timeline, start_ns: int, end_ns: int, number: int, limit: int
) -> TrackExcerpt:
    inside = _slices_of(timeline, start_ns, end_ns, number)
    track = timeline.tracks[number]
    if inside is None:
        return TrackExcerpt(track, 0, 0, [], [])
    busy = union(np.maximum(inside.start, start_ns), np.minimum(inside.start + inside.dur, end_ns))
    longest = np.argsort(-inside.self_ns, kind="stable")[:limit]
    longest = longest[inside.self_ns[longest] >= LEAST_SHARE * (end_ns - start_ns)]
    order = longest[np.argsort(inside.start[longest], kind="stable")]
    largest = [
        ExcerptSlice(
            _name(timeline, int(inside.code[at])),
            int(inside.depth[at]),
            int(inside.start[at]),
            int(inside.dur[at]),
            int(inside.self_ns[at]),
        )
        for at in order.tolist()
    ]
    rest = np.ones(len(inside.code), np.bool_)
    rest[longest] = False
    others = _by_name(timeline, inside.code[rest], inside.self_ns[rest], inside.dur[rest])
    return TrackExcerpt(track, total(busy), len(inside.code), largest, others)


class _Slices(Struct, frozen=True, eq=False):
    """The slices of a track in a range: arrays of equal length; starts from the origin."""

    code: Int64
    depth: Int64
    start: Int64
    dur: Int64
    self_ns: Int64


def _slices_of(timeline: Timeline, start_ns: int, end_ns: int, number: int) -> _Slices | None:
    """The slices; None where there are none."""
    lanes = np.flatnonzero(timeline.lanes.track == number)
    rows: list[Int64] = []
    parts: list[LanePart] = []
    for lane in lanes.tolist():
        for part in parts_in_range(timeline, np.array([lane]), start_ns, end_ns):
            parts.append(part)
            rows.append(np.full(len(part.slice), timeline.lanes.row[lane], np.int64))
    if not parts:
        return None
    ids = np.concatenate([part.slice for part in parts]).astype(np.int64)
    slices = timeline.trace.slices[ids]
    return _Slices(
        slices["name_code"].to_numpy().astype(np.int64),
        np.concatenate(rows),
        slices["start_ns"].to_numpy() - timeline.origin_ns,
        slices["dur_ns"].to_numpy(),
        np.concatenate([part.self_ns for part in parts]),
    )


def _by_name(timeline: Timeline, code: Int64, self_ns: Int64, dur: Int64) -> list[NameTime]:
    """The :data:`OTHER_NAMES` names with most self time."""
    names, at = factorize(code)
    by_self = np.bincount(at, self_ns, len(names))
    by_total = np.bincount(at, dur, len(names))
    count = np.bincount(at, minlength=len(names))
    return [
        NameTime(
            _name(timeline, int(names[row])),
            int(count[row]),
            exact_microseconds(int(by_self[row])),
            exact_microseconds(int(by_total[row])),
        )
        for row in np.argsort(-by_self, kind="stable")[:OTHER_NAMES].tolist()
    ]


def _name(timeline: Timeline, code: int) -> str:
    trace = timeline.trace
    return kernel_names(trace).short_text(code) or name_text(trace, code) or ""
