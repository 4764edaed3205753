"""Counts and times of what some lanes hold in a range, by category and name.

Self time is what no slice one lane below covers, cut at the edges of the range: nesting in time,
whoever called whom. Slices on lanes for overlaps count with their whole time.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.categories import CATEGORIES
from torch_tb_profiler.views.timeline.index import Lanes, Timeline


class CategoryTime(Struct, frozen=True):
    """Time of one category in a range."""

    category: int
    is_device: bool
    count: int
    self_us: float


class NameTime(Struct, frozen=True):
    """One name in a range; ``self_us`` is what lies in the range, without children.

    Nested slices count twice in ``total_us``, their whole time. ``short_name`` where the name is
    that of a kernel, ``demangled_name`` where it is mangled.
    """

    name: str
    count: int
    self_us: float
    total_us: float
    short_name: str | None = None
    demangled_name: str | None = None


class LaneSums:
    """Counts and times by (device or host, category, name)."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._parts: list[tuple[Int64, Int64, Int64]] = []

    def add(self, key: Int64, self_ns: Int64, total_ns: Int64) -> None:
        """Slices by key; see :meth:`keys`."""
        keys, where, count = np.unique(key, return_inverse=True, return_counts=True)
        sums = [np.bincount(where, values) for values in (self_ns, total_ns)]
        self._parts.append((keys, count, np.rint(np.stack(sums)).astype(np.int64)))

    def keys(self, category: Int64, name: Int64, *, is_device: bool) -> Int64:
        """One number for what a slice is summed by; an absent name is -1."""
        codes = len(CATEGORIES)
        return ((name + 1) * codes + category) * 2 + is_device

    def _joined(self) -> tuple[Int64, Int64, Int64, Int64]:
        if not self._parts:
            none = np.empty(0, np.int64)
            return none, none, none, none
        key = np.concatenate([part[0] for part in self._parts])
        keys, where = factorize(key)
        columns = [
            np.concatenate([part[1] for part in self._parts]),
            *np.concatenate([part[2] for part in self._parts], axis=1),
        ]
        sums = [np.zeros(len(keys), np.int64) for _ in columns]
        for total_, values in zip(sums, columns, strict=True):
            np.add.at(total_, where, values)
        return keys, sums[0], sums[1], sums[2]

    def by_category(self) -> list[CategoryTime]:
        """Host before device, most time first."""
        key, count, self_ns, _ = self._joined()
        column = key % (2 * len(CATEGORIES))
        counts = np.bincount(column, count, 2 * len(CATEGORIES))
        times = np.bincount(column, self_ns, 2 * len(CATEGORIES))
        listed = [
            CategoryTime(
                number // 2,
                bool(number % 2),
                int(counts[number]),
                exact_microseconds(int(times[number])),
            )
            for number in np.flatnonzero(counts).tolist()
        ]
        return sorted(listed, key=lambda entry: (entry.is_device, -entry.self_us))

    def top(self, categories: tuple[int, ...], limit: int) -> list[NameTime]:
        """The names of these categories with most self time."""
        key, count, self_ns, total_ns = self._joined()
        chosen = np.isin(key // 2 % len(CATEGORIES), np.array(categories, np.int64))
        names, where = factorize(key[chosen] // (2 * len(CATEGORIES)) - 1)
        sums = [
            np.bincount(where, values[chosen], len(names)) for values in (count, self_ns, total_ns)
        ]
        best = np.argsort(-sums[1], kind="stable")[:limit]
        others = kernel_names(self._trace)
        return [
            NameTime(
                self._trace.text(int(names[row])) or "",
                int(sums[0][row]),
                exact_microseconds(int(sums[1][row])),
                exact_microseconds(int(sums[2][row])),
                others.short_text(int(names[row])),
                others.demangled_text(int(names[row])),
            )
            for row in best.tolist()
        ]


def lane_sums(timeline: Timeline, chosen: Int64, start_ns: int, end_ns: int) -> LaneSums:
    """Sums over the slices of the lanes ``chosen``, cut at the edges of the range, in ns from the
    origin; what lies one lane below is no self time whether it is chosen or not."""
    lanes, trace = timeline.lanes, timeline.trace
    sums = LaneSums(trace)
    names = trace.slices["name_code"].to_numpy()
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
        key = sums.keys(
            lanes.category[low:high].astype(np.int64),
            names[lanes.slice[low:high]].astype(np.int64),
            is_device=track.device is not None,
        )
        sums.add(key, np.maximum(end - start - inner, 0), end - start)
    return sums


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
