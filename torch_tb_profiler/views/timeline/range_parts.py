"""What lies on some lanes in a range: per lane the slices, cut at the edges, and their self time.

Self time is what no slice one lane below covers, cut at the edges of the range: nesting in time,
whoever called whom. Slices on lanes for overlaps count with their whole time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Int8, Int32, Int64
from torch_tb_profiler.views.timeline.index import Lanes, Timeline


class LanePart(Struct, frozen=True, eq=False):
    """The slices of one lane that overlap a range.

    Attributes:
        is_device: Whether the lane belongs to a device.
        slice: Ids.
        category: Codes of :mod:`.categories`.
        self_ns: Time of each inside the range without what lies one lane below.
        total_ns: Time of each inside the range that it adds to its lane.
    """

    is_device: bool
    slice: Int32
    category: Int8
    self_ns: Int64
    total_ns: Int64


def parts_in_range(
    timeline: Timeline, chosen: Int64, start_ns: int, end_ns: int
) -> Iterator[LanePart]:
    """The slices of the lanes ``chosen`` in a range, in ns from the origin, lane by lane; what lies
    one lane below is no self time whether it is chosen or not."""
    lanes = timeline.lanes
    is_summed = np.zeros(len(timeline.tracks), np.bool_)
    is_summed[lanes.track[chosen]] = True
    siblings = np.flatnonzero(is_summed[lanes.track]).tolist()
    at = {(int(lanes.track[lane]), int(lanes.row[lane])): int(lane) for lane in siblings}
    for lane in chosen.tolist():
        number, row = int(lanes.track[lane]), int(lanes.row[lane])
        track = timeline.tracks[number]
        low, high = _inside(lanes, lane, start_ns, end_ns)
        if low == high:
            continue
        positions = np.arange(low, high)
        start = np.maximum(lanes.start_ns[low:high], start_ns)
        end = np.minimum(lanes.end_ns(positions), end_ns)
        below = at.get((number, row + 1))
        apart = track.overlap_from is not None and row + 1 >= track.overlap_from
        inner = np.zeros(len(start), np.int64)
        if below is not None and not apart:
            inner = _busy_until(lanes, below, end) - _busy_until(lanes, below, start)
        yield LanePart(
            track.device is not None,
            lanes.slice[low:high],
            lanes.category[low:high],
            np.maximum(end - start - inner, 0),
            end - start,
        )


def _inside(lanes: Lanes, lane: int, start_ns: int, end_ns: int) -> tuple[int, int]:
    """First and last place (not included) of the slices of a lane that overlap the range."""
    first, last = int(lanes.first[lane]), int(lanes.first[lane + 1])
    starts = lanes.start_ns[first:last]
    low = first + int(np.searchsorted(starts, start_ns, "left"))
    high = first + int(np.searchsorted(starts, end_ns, "left"))
    if low > first and int(lanes.end_ns(np.array([low - 1]))[0]) > start_ns:
        low -= 1
    return low, high


def _busy_until(lanes: Lanes, lane: int, time_ns: Int64) -> Int64:
    """Busy time of a lane before each moment."""
    first, last = int(lanes.first[lane]), int(lanes.first[lane + 1])
    position = first + np.searchsorted(lanes.start_ns[first:last], time_ns, "right")
    before = np.maximum(position - 1, first)
    ahead = np.maximum(lanes.end_ns(before) - time_ns, 0)
    busy: Int64 = (
        lanes.busy_ns[position] - lanes.busy_ns[first] - np.where(position > first, ahead, 0)
    )
    return busy
