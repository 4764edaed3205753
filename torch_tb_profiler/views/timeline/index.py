"""The index behind all screens: the slices of every lane in order of time, built once per trace.

It takes 21 bytes per slice in addition to the trace: id, category, the start of the time that the
slice adds to its lane, and the busy time before it. The added time excludes what earlier slices of
the lane already cover, so the parts of a lane are disjoint even in damaged traces, and busy times
are exact.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.trace.columns import Int8, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline import categories
from torch_tb_profiler.views.timeline.counters import counters
from torch_tb_profiler.views.timeline.device_counters import device_group
from torch_tb_profiler.views.timeline.merged import LANE_TITLES, device_activity
from torch_tb_profiler.views.timeline.rows import LaneOrder, lane_order
from torch_tb_profiler.views.timeline.tracks import (
    Counter,
    Group,
    TimelineTrack,
    assign_tracks,
)

NO_SLICE = -1
"""In ``Lanes.slice``: a part of a merged track, which is no event of the trace."""


class Lanes(Struct, frozen=True, eq=False):
    """All lanes, one after the other; times in ns from the origin (``trace.meta.start_ns``).

    Attributes:
        track: Track number of each lane.
        row: Place of each lane in its track.
        first: First place of each lane in the arrays below, and the end.
        start_ns: Start of what each slice adds to its lane, ascending in a lane.
        busy_ns: Busy time of all slices before each place, one more than there are slices.
        slice: Slice ids, or :data:`NO_SLICE`.
        category: Category codes of :mod:`.categories`.
        name: Codes of names (:func:`.names.name_text`) of parts that are no slice, -1 for the
            others; None where there are only others.
    """

    track: Int32
    row: Int32
    first: Int64
    start_ns: Int64
    busy_ns: Int64
    slice: Int32
    category: Int8
    name: Int64 | None = None

    def end_ns(self, positions: Int64) -> Int64:
        """End of what the slices at ``places`` add to their lanes."""
        return self.start_ns[positions] + self.busy_ns[positions + 1] - self.busy_ns[positions]


class Timeline(Struct, frozen=True, eq=False):
    """The timeline of a trace.

    Attributes:
        trace: What it shows.
        groups: Headings from top to bottom.
        tracks: Tracks from top to bottom; their place is their number.
        lanes: The slices.
        rows: Track key → the row of the trace whose slices it holds, of tracks that hold one's.
        counters: Track number → the counter it shows.
        counters_left_out: How many counters of the file have no track.
    """

    trace: Trace
    groups: list[Group]
    tracks: list[TimelineTrack]
    lanes: Lanes
    rows: dict[str, int]
    counters: dict[int, Counter]
    counters_left_out: int

    @property
    def origin_ns(self) -> int:
        """Trace time of the timeline's 0."""
        return self.trace.meta.start_ns

    @property
    def end_ns(self) -> int:
        """End of the last slice, from the origin."""
        return self.trace.meta.end_ns - self.trace.meta.start_ns

    @property
    def overlapping(self) -> int:
        """How many slices overlap others of their row without nesting: the count of the quality
        note. Lanes for what overlaps also hold what lies in such slices."""
        return self.trace.quality.counts.get("overlapping_slices", 0)


@per_trace
def timeline(trace: Trace) -> Timeline:
    """The timeline of ``trace``; cached per trace."""
    placement = assign_tracks(trace)
    order = lane_order(trace, placement)
    event_tracks = [
        replace(
            track,
            lanes=int(order.lanes[number]),
            overlap_from=int(order.overlap_from[number])
            if order.overlap_from[number] >= 0
            else None,
        )
        for number, track in enumerate(placement.tracks)
    ]
    listed, left_out = counters(trace, placement.groups)
    groups, tracks = _arranged(trace, placement.groups, event_tracks, listed)
    number_of = {track.key: number for number, track in enumerate(tracks)}
    lanes = _slice_lanes(trace, order, [number_of[track.key] for track in event_tracks])
    lanes = _with_merged(trace, lanes, number_of)
    return Timeline(
        trace,
        groups,
        _with_communication(tracks, lanes),
        lanes,
        placement.rows,
        {number_of[counter.track.key]: counter for counter in listed},
        left_out,
    )


def _arranged(
    trace: Trace, groups: list[Group], event_tracks: list[TimelineTrack], listed: list[Counter]
) -> tuple[list[Group], list[TimelineTrack]]:
    """All groups, and all tracks in display order: steps, then per group what its parts did
    together, its counters, its rows."""
    merged = [
        TimelineTrack(
            f"d{device}.merged",
            "Computation and communication",
            kind="merged",
            group=f"d{device}",
            help="Combined activity of all streams of the GPU. Exposed: communication while "
            "nothing computes.",
            lanes=len(times.lanes),
            lane_titles=tuple(times.lanes),
            slices=sum(len(part.start_ns) for part in times.lanes.values()),
            device=device,
        )
        for device, times in device_activity(trace).items()
    ]
    headings = {group.key: group for group in groups}
    for device in device_activity(trace):
        headings.setdefault(f"d{device}", device_group(trace, device))
    for counter in listed:
        headings.setdefault(counter.group.key, counter.group)
    position = {key: number for number, key in enumerate(headings)}
    tracks = [*merged, *(counter.track for counter in listed), *event_tracks]
    return list(headings.values()), sorted(tracks, key=lambda track: position[track.group])


def _slice_lanes(trace: Trace, order: LaneOrder, number: list[int]) -> Lanes:
    """The lanes of the trace's own slices, made in the arrays of ``order``.

    Args:
        trace: The trace.
        order: Its slices by lane; used up.
        number: Final number of each track.
    """
    start, reach = order.start_ns, order.reach_ns
    before = reach[:-1].copy()
    before[order.first[1:-1] - 1] = np.iinfo(np.int64).min
    np.maximum(start[1:], before, out=start[1:])
    del before
    busy = np.zeros(len(start) + 1, np.int64)
    np.subtract(reach, start, out=busy[1:])
    np.cumsum(busy[1:], out=busy[1:])
    start -= trace.meta.start_ns
    return Lanes(
        track=np.array(number, np.int32)[order.track],
        row=order.row,
        first=order.first,
        start_ns=start,
        busy_ns=busy,
        slice=order.order.astype(np.int32),
        category=categories.slice_categories(trace)[order.order],
    )


def _with_merged(trace: Trace, lanes: Lanes, number_of: dict[str, int]) -> Lanes:
    """``lanes`` with those of the merged tracks behind."""
    parts = [lanes]
    for device, times in device_activity(trace).items():
        number = number_of[f"d{device}.merged"]
        for row, (title, intervals) in enumerate(times.lanes.items()):
            code = categories.COMPUTATION + LANE_TITLES.index(title)
            count = len(intervals.start_ns)
            parts.append(
                Lanes(
                    track=np.array([number], np.int32),
                    row=np.array([row], np.int32),
                    first=np.array([0, count], np.int64),
                    start_ns=intervals.start_ns - trace.meta.start_ns,
                    busy_ns=np.append(0, np.cumsum(intervals.end_ns - intervals.start_ns)),
                    slice=np.full(count, NO_SLICE, np.int32),
                    category=np.full(count, code, np.int8),
                )
            )
    return joined_lanes(parts) if len(parts) > 1 else lanes


def joined_lanes(parts: list[Lanes]) -> Lanes:
    """The lanes of all ``parts``, one after the other."""
    firsts, busy = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    positions, time_ns = 0, 0
    for part in parts:
        firsts.append(part.first[1:] + positions)
        busy.append(part.busy_ns[1:] + time_ns)
        positions += int(part.first[-1])
        time_ns += int(part.busy_ns[-1])
    return Lanes(
        track=np.concatenate([part.track for part in parts]),
        row=np.concatenate([part.row for part in parts]),
        first=np.concatenate(firsts),
        start_ns=np.concatenate([part.start_ns for part in parts]),
        busy_ns=np.concatenate(busy),
        slice=np.concatenate([part.slice for part in parts]),
        category=np.concatenate([part.category for part in parts]),
        name=_joined_names(parts) if any(part.name is not None for part in parts) else None,
    )


def _joined_names(parts: list[Lanes]) -> Int64:
    return np.concatenate(
        [
            np.full(len(part.slice), NO_SLICE, np.int64) if part.name is None else part.name
            for part in parts
        ]
    )


def _with_communication(tracks: list[TimelineTrack], lanes: Lanes) -> list[TimelineTrack]:
    """Device streams marked whose work is communication for more than half of its time."""
    streams = {n for n, track in enumerate(tracks) if track.kind == "device_stream"}
    total, moving = np.zeros(len(tracks)), np.zeros(len(tracks))
    for lane, number in enumerate(lanes.track.tolist()):
        if number in streams:
            low, high = lanes.first[lane], lanes.first[lane + 1]
            busy = np.diff(lanes.busy_ns[low : high + 1])
            total[number] += busy.sum()
            moving[number] += busy[lanes.category[low:high] == categories.COMMUNICATION].sum()
    return [
        replace(track, communication=True) if 2 * moving[number] > total[number] else track
        for number, track in enumerate(tracks)
    ]
