"""What one screen shows of the lanes: wide slices whole, narrow neighbours merged.

The parts of a lane are disjoint, so of the slices that start in a bucket only the last can be as
wide as it: a few lookups per bucket determine which slices are whole or merged and how busy they
are, without touching the slices between. The cost is that of the buckets, not of the events.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.views.timeline.buckets import LanesInView, bucket_shifts, cell_allowance
from torch_tb_profiler.views.timeline.index import Lanes

MAX_LANES = 5000
"""Lanes of one answer: 14 bytes each even when they are nearly empty."""

SAMPLES = 8
"""Slices sampled for the category of a merged range."""

WHOLE_BYTES, MERGED_BYTES, LANE_BYTES = 23, 9, 21
"""What each costs in the answer at most."""


def first_at_or_after(values: Int64, low: Int64, high: Int64, wanted: Int64) -> Int64:
    """Per ``i`` the first place of ``values[low[i]:high[i]]`` (sorted) that is ≥ ``wanted[i]``.

    ``high[i]`` where there is none. A joint key for all stretches could overflow with the times of
    damaged traces; this bisects them side by side instead.
    """
    low, high = low.copy(), high.copy()
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) >> 1
        below = values[middle] < wanted[open_]
        low[open_[below]] = middle[below] + 1
        high[open_[~below]] = middle[~below]
        open_ = open_[low[open_] < high[open_]]
    return low


def enumerated(first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """All places of the stretches ``[first[i], last[i])`` in a row, and the ``i`` of each."""
    counts = last - first
    owner = np.repeat(np.arange(len(counts)), counts)
    offset = first - np.cumsum(counts) + counts
    return np.arange(len(owner)) + offset[owner], owner


class Viewport(Struct, frozen=True):
    """A part of time, in ns from the origin, and its width on the screen."""

    start_ns: int
    end_ns: int
    width_px: int

    @property
    def pixel_ns(self) -> float:
        """Time per pixel."""
        return (self.end_ns - self.start_ns) / self.width_px

    @property
    def shift(self) -> int:
        """Exponent of the widest bucket, a power of two of ns, that is no wider than a pixel."""
        return max(0, int(np.floor(np.log2(max(self.pixel_ns, 1.0)))))


class Screen(Struct, frozen=True, eq=False):
    """What is drawn of some lanes, lane by lane in order of time.

    Attributes:
        lane: Numbers of the lanes that have anything in the view.
        shift: Exponent of each lane's bucket width.
        whole: Places (of :class:`Lanes`) of the slices drawn whole.
        whole_first: Per lane its first row in ``whole``, and the end.
        bucket: Bucket of each merged stretch, counted from the one that holds the view's start.
        count: How many slices it stands for.
        busy_ns: Their busy time.
        category: Category code of most of their time.
        merged_first: As ``whole_first``.
        coarse: Whether some lane has wider buckets than pixels, for the size of the answer.
        lanes_left_out: Lanes with something in the view for which there was no room.
    """

    lane: Int64
    shift: Int64
    whole: Int64
    whole_first: Int64
    bucket: Int64
    count: Int64
    busy_ns: Int64
    category: Int8
    merged_first: Int64
    coarse: bool
    lanes_left_out: int


def screen(lanes: Lanes, chosen: Int64, view: Viewport, max_bytes: int) -> Screen:
    """What ``view`` shows of the lanes ``chosen`` (numbers), in at most ``max_bytes``.

    Where that is not enough for buckets of a pixel, the lanes with most in them get wider ones.
    """
    inside = _in_view(lanes, chosen, view)
    left_out = max(0, len(inside.lane) - MAX_LANES)
    inside = inside.first_lanes(MAX_LANES)
    allowed = cell_allowance(inside, view.shift, max_bytes // MERGED_BYTES)
    while True:
        cut = _cut(lanes, inside, view, allowed)
        if cut.size_bytes <= max_bytes:
            return _drawn(lanes, inside, view, cut, left_out)
        share = max_bytes / cut.size_bytes
        if allowed > 1:
            # Widths double: a little less would change nothing.
            allowed = max(1, int(min(0.7, share) * allowed))
        else:
            fewer = max(1, int(0.9 * share * len(inside.lane)))
            left_out += len(inside.lane) - fewer
            inside = inside.first_lanes(fewer)


def _in_view(lanes: Lanes, chosen: Int64, view: Viewport) -> LanesInView:
    low, high = lanes.first[chosen], lanes.first[chosen + 1]
    start = np.full(len(chosen), view.start_ns, np.int64)
    begun = first_at_or_after(lanes.start_ns, low, high, start)
    end = first_at_or_after(lanes.start_ns, begun, high, np.full_like(start, view.end_ns))
    before = np.maximum(begun - 1, 0)
    reaches_in = (begun > low) & (lanes.end_ns(before) > view.start_ns)
    filled = (end > begun) | reaches_in
    return LanesInView(
        chosen[filled], begun[filled], end[filled], reaches_in[filled], view.start_ns, view.end_ns
    )


class _Cut(Struct, frozen=True, eq=False):
    """The slices of some lanes by the buckets they start in, lane by lane in order of time.

    Attributes:
        shift: Exponent of the bucket width of each lane.
        first: First place of each bucket that is not empty.
        last: Place behind it.
        lane_row: Row of its lane among those in view.
        is_wide: Whether its last slice is as wide as the bucket.
        size_bytes: What all takes in the answer at most.
    """

    shift: Int64
    first: Int64
    last: Int64
    lane_row: Int64
    is_wide: Bools
    size_bytes: int

    @property
    def narrow(self) -> Int64:
        """Slices in each bucket that are narrower than it."""
        counts: Int64 = self.last - self.first - self.is_wide
        return counts


def _cut(lanes: Lanes, inside: LanesInView, view: Viewport, allowed: int) -> _Cut:
    shift = bucket_shifts(inside, view.shift, allowed)
    first, last, lane_row = _stretches(lanes, inside, shift)
    wide_ns = lanes.busy_ns[last] - lanes.busy_ns[last - 1]
    is_wide = wide_ns >= np.left_shift(1, shift)[lane_row]
    narrow = last - first - is_wide
    whole = int(inside.reaches_in.sum()) + int(is_wide.sum()) + int((narrow == 1).sum())
    size_bytes = (
        WHOLE_BYTES * whole + MERGED_BYTES * int((narrow > 1).sum()) + LANE_BYTES * len(inside.lane)
    )
    return _Cut(shift, first, last, lane_row, is_wide, size_bytes)


def _drawn(
    lanes: Lanes, inside: LanesInView, view: Viewport, cut: _Cut, lanes_left_out: int
) -> Screen:
    shift, first, lane_row, narrow = cut.shift, cut.first, cut.lane_row, cut.narrow
    merged = narrow >= 2
    # A wide slice is drawn whole, and so is a narrow one that is alone; the first of two can be one
    # as the other is wide.
    alone = narrow == 1
    reaching = np.flatnonzero(inside.reaches_in)
    whole = np.concatenate((inside.begun[reaching] - 1, first[alone], cut.last[cut.is_wide] - 1))
    whole_of = np.concatenate((reaching, lane_row[alone], lane_row[cut.is_wide]))
    order = np.lexsort((whole, whole_of))
    end = (cut.last - cut.is_wide)[merged]
    first, lane_row = first[merged], lane_row[merged]
    return Screen(
        lane=inside.lane,
        shift=shift,
        whole=whole[order],
        whole_first=_firsts(whole_of, len(inside.lane)),
        bucket=(lanes.start_ns[first] >> shift[lane_row]) - (view.start_ns >> shift[lane_row]),
        count=narrow[merged],
        busy_ns=lanes.busy_ns[end] - lanes.busy_ns[first],
        category=_main_category(lanes, first, end),
        merged_first=_firsts(lane_row, len(inside.lane)),
        coarse=bool((shift > view.shift).any()),
        lanes_left_out=lanes_left_out,
    )


def _firsts(lane_row: Int64, lane_count: int) -> Int64:
    return np.append(0, np.cumsum(np.bincount(lane_row, minlength=lane_count)))


def _stretches(lanes: Lanes, inside: LanesInView, shift: Int64) -> tuple[Int64, Int64, Int64]:
    """First and last place (not included) of the slices that start in one bucket, of every bucket
    that is not empty, and the row of its lane in ``inside``; lane by lane in order of time."""
    count = inside.end - inside.begun
    buckets = inside.bucket_counts(shift)
    few = np.flatnonzero(count <= buckets)
    many = np.flatnonzero(count > buckets)
    position, which = enumerated(inside.begun[few], inside.end[few])
    of_few = few[which]
    bucket = lanes.start_ns[position] >> shift[of_few]
    opens = np.ones(len(position), np.bool_)
    opens[1:] = (bucket[1:] != bucket[:-1]) | (of_few[1:] != of_few[:-1])
    edge, which = enumerated(np.ones(len(many), np.int64), buckets[many])
    of_many = many[which]
    time = ((inside.start_ns >> shift[of_many]) + edge) << shift[of_many]
    following = first_at_or_after(lanes.start_ns, inside.begun[of_many], inside.end[of_many], time)
    first = np.concatenate((position[opens], inside.begun[many], following))
    lane_row = np.concatenate((of_few[opens], many, of_many))
    order = np.lexsort((first, lane_row))
    first, lane_row = first[order], lane_row[order]
    # Buckets in which nothing starts end where they begin, those at the end begin at its end.
    last = np.append(first, 0)[1:]
    closes = np.append(lane_row, -1)[1:] != lane_row
    last[closes] = inside.end[lane_row[closes]]
    filled = last > first
    return first[filled], last[filled], lane_row[filled]


def _main_category(lanes: Lanes, first: Int64, last: Int64) -> Int8:
    """Category with most of the time of each ``[first[i], last[i])``, by evenly spread samples."""
    count = last - first
    step = np.arange(SAMPLES)
    position = first[:, None] + np.where(
        count[:, None] > SAMPLES, step * count[:, None] // SAMPLES, step
    )
    counts = position < last[:, None]
    position = np.where(counts, position, first[:, None])
    category = lanes.category[position]
    # One ns more each, so that slices of no length count as well.
    weight = (lanes.busy_ns[position + 1] - lanes.busy_ns[position] + 1) * counts
    best = np.zeros(len(first), np.int8)
    most = np.zeros(len(first), np.int64)
    present: npt.NDArray[np.int64] = np.flatnonzero(np.bincount(category.reshape(-1)))
    for code in present.tolist():
        time = (weight * (category == code)).sum(axis=1)
        better = time > most
        best[better] = code
        most[better] = time[better]
    return best
