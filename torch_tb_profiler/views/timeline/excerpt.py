"""A range of the timeline track by track: how busy each was, and its largest slices in order.

Self time is what no slice one lane below covers, cut at the edges (:mod:`.range_parts`).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import total, union
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.views.timeline.index import NO_SLICE, Timeline
from torch_tb_profiler.views.timeline.names import name_text
from torch_tb_profiler.views.timeline.range_parts import LanePart, parts_in_range
from torch_tb_profiler.views.timeline.tracks import TimelineTrack


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
    """

    track: TimelineTrack
    busy_ns: int
    count: int
    largest: list[ExcerptSlice]


def excerpt(
    timeline: Timeline, start_ns: int, end_ns: int, tracks: Collection[int], limit: int
) -> list[TrackExcerpt]:
    """What ``tracks`` did in ``[start_ns, end_ns)``, from the origin.

    Args:
        timeline: The timeline.
        start_ns: Start of the range.
        end_ns: End of the range, not included.
        tracks: Numbers of tracks that hold slices, in the order of the answer.
        limit: Slices that are listed of each track.
    """
    return [_of_track(timeline, start_ns, end_ns, number, limit) for number in tracks]


def _of_track(
    timeline: Timeline, start_ns: int, end_ns: int, number: int, limit: int
) -> TrackExcerpt:
    lanes = np.flatnonzero(timeline.lanes.track == number)
    rows: list[Int64] = []
    parts: list[LanePart] = []
    for lane in lanes.tolist():
        for part in parts_in_range(timeline, np.array([lane]), start_ns, end_ns):
            parts.append(part)
            rows.append(np.full(len(part.slice), timeline.lanes.row[lane], np.int64))
    track = timeline.tracks[number]
    if not parts:
        return TrackExcerpt(track, 0, 0, [])
    ids = np.concatenate([part.slice for part in parts]).astype(np.int64)
    self_ns = np.concatenate([part.self_ns for part in parts])
    depth = np.concatenate(rows)
    is_slice = ids != NO_SLICE
    ids, self_ns, depth = ids[is_slice], self_ns[is_slice], depth[is_slice]
    slices = timeline.trace.slices[ids]
    start = slices["start_ns"].to_numpy() - timeline.origin_ns
    dur = slices["dur_ns"].to_numpy()
    busy = union(np.maximum(start, start_ns), np.minimum(start + dur, end_ns))
    longest = np.argsort(-self_ns, kind="stable")[:limit]
    order = longest[np.argsort(start[longest], kind="stable")]
    codes = slices["name_code"].to_numpy()
    short = kernel_names(timeline.trace)
    largest = [
        ExcerptSlice(
            short.short_text(int(codes[at])) or name_text(timeline.trace, int(codes[at])) or "",
            int(depth[at]),
            int(start[at]),
            int(dur[at]),
            int(self_ns[at]),
        )
        for at in order.tolist()
    ]
    return TrackExcerpt(track, total(busy), len(ids), largest)
