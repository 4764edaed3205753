"""What a range of time holds: time by category and name, GPUs, and where they had nothing to do.

Self time is what no slice one lane below covers, cut at the edges of the range: nesting in time,
whoever called whom. Slices on lanes for overlaps count with their whole time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.intervals import clip, subtract, total, union_all
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds
from torch_tb_profiler.views.timeline.categories import CATEGORIES, COMMUNICATION
from torch_tb_profiler.views.timeline.index import Lanes, Timeline
from torch_tb_profiler.views.timeline.merged import device_activity

TOP = 10
"""Names listed of each kind."""

MAX_GAPS = 10
GAP_NAMES = 3

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)
_WORK = (Category.KERNEL, Category.MEMCPY, Category.MEMSET, COMMUNICATION)


@dataclass(frozen=True, slots=True)
class CategoryTime:
    """Time of one category in a range."""

    category: int
    is_device: bool
    count: int
    self_us: float


@dataclass(frozen=True, slots=True)
class NameTime:
    """One name in a range; ``self_us`` is what lies in the range, without children.

    Nested slices count twice in ``total_us``, their whole time.
    """

    name: str
    count: int
    self_us: float
    total_us: float


@dataclass(frozen=True, slots=True)
class GpuTime:
    """What one GPU did in a range.

    Computation alone, communication alone, both together and copies or sets without any kernel add
    up to the busy time, and with the idle time to the range.
    """

    device: int
    busy_us: float
    computation_us: float
    communication_us: float
    overlap_us: float
    idle_us: float
    copies_us: float


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a GPU ran nothing, and what the host thread that feeds it did meanwhile.

    ``thread`` is the one that launches most of its work. Times from the origin.
    """

    device: int
    start_ns: int
    end_ns: int
    thread: str | None
    host: list[NameTime]


@dataclass(frozen=True, slots=True)
class RangeSummary:
    """See the module docstring; names are ordered by self time, gaps by length."""

    categories: list[CategoryTime]
    operators: list[NameTime]
    python: list[NameTime]
    kernels: list[NameTime]
    gpus: list[GpuTime]
    gaps: list[Gap]
    gap_count: int


def range_summary(timeline: Timeline, start_ns: int, end_ns: int) -> RangeSummary:
    """Summary of ``[start_ns, end_ns)``, from the origin."""
    drawn = [number for number, track in enumerate(timeline.tracks) if track.key in timeline.rows]
    sums = _sums(timeline, np.flatnonzero(np.isin(timeline.lanes.track, drawn)), start_ns, end_ns)
    gaps, gap_count = _gaps(timeline, start_ns, end_ns)
    return RangeSummary(
        categories=sums.by_category(),
        operators=sums.top(_OPERATORS, TOP),
        python=sums.top(PYTHON_CATEGORIES, TOP),
        kernels=sums.top(_WORK, TOP),
        gpus=_gpus(timeline, start_ns, end_ns),
        gaps=gaps,
        gap_count=gap_count,
    )


class _Sums:
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
        keys, where = np.unique(key, return_inverse=True)
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
        of = key % (2 * len(CATEGORIES))
        counts = np.bincount(of, count, 2 * len(CATEGORIES))
        times = np.bincount(of, self_ns, 2 * len(CATEGORIES))
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
        names, where = np.unique(key[chosen] // (2 * len(CATEGORIES)) - 1, return_inverse=True)
        sums = [
            np.bincount(where, values[chosen], len(names)) for values in (count, self_ns, total_ns)
        ]
        best = np.argsort(-sums[1], kind="stable")[:limit]
        return [
            NameTime(
                self._trace.text(int(names[row])) or "",
                int(sums[0][row]),
                *(exact_microseconds(int(times[row])) for times in sums[1:]),
            )
            for row in best.tolist()
        ]


def _sums(timeline: Timeline, chosen: Int64, start_ns: int, end_ns: int) -> _Sums:
    """Sums over the slices of the lanes ``chosen``, cut at the edges of the range."""
    lanes, trace = timeline.lanes, timeline.trace
    sums = _Sums(trace)
    names = trace.slices["name_code"].to_numpy()
    at = {(int(lanes.track[lane]), int(lanes.row[lane])): int(lane) for lane in chosen}
    for (number, row), lane in at.items():
        track = timeline.tracks[number]
        low, high = _inside(lanes, lane, start_ns, end_ns)
        if low == high:
            continue
        places = np.arange(low, high)
        start = np.maximum(lanes.start_ns[low:high], start_ns)
        end = np.minimum(lanes.end_ns(places), end_ns)
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
    place = first + np.searchsorted(lanes.start_ns[first:last], time_ns, "right")
    before = np.maximum(place - 1, first)
    ahead = np.maximum(lanes.end_ns(before) - time_ns, 0)
    busy: Int64 = lanes.busy_ns[place] - lanes.busy_ns[first] - np.where(place > first, ahead, 0)
    return busy


def _gpus(timeline: Timeline, start_ns: int, end_ns: int) -> list[GpuTime]:
    low, high = start_ns + timeline.origin_ns, end_ns + timeline.origin_ns
    gpus = []
    for device, times in device_activity(timeline.trace).items():
        kernels = union_all(times.computation, times.communication)
        parts = (
            subtract(times.computation, times.communication),
            subtract(times.communication, times.computation),
            times.overlap,
            subtract(times.copies, kernels),
        )
        *alone, both, copies = (total(clip(part, low, high)) for part in parts)
        busy = sum(alone) + both + copies
        of_device = (busy, *alone, both, end_ns - start_ns - busy, copies)
        gpus.append(GpuTime(device, *map(exact_microseconds, of_device)))
    return gpus


def _gaps(timeline: Timeline, start_ns: int, end_ns: int) -> tuple[list[Gap], int]:
    """The longest gaps of all GPUs, and how many there are."""
    origin = timeline.origin_ns
    gaps: list[tuple[int, int, int]] = []
    count = 0
    for device, times in device_activity(timeline.trace).items():
        idle = clip(times.idle, start_ns + origin, end_ns + origin)
        count += len(idle.start_ns)
        longest = np.argsort(idle.start_ns - idle.end_ns, kind="stable")[:MAX_GAPS]
        begun, ended = (edge[longest] - origin for edge in idle)
        gaps += [(device, *edges) for edges in zip(begun.tolist(), ended.tolist(), strict=True)]
    gaps.sort(key=lambda gap: gap[1] - gap[2])
    feeders = _feeders(timeline.trace)
    return [_gap(timeline, feeders.get(gap[0]), *gap) for gap in gaps[:MAX_GAPS]], count


def _gap(timeline: Timeline, row: int | None, device: int, start_ns: int, end_ns: int) -> Gap:
    host: list[NameTime] = []
    title = None
    for kind in ("operators", "runtime", "python"):
        for number, track in enumerate(timeline.tracks):
            if row is None or timeline.rows.get(track.key) != row or track.kind != kind or host:
                continue
            title = track.title
            lanes = np.flatnonzero(timeline.lanes.track == number)
            sums = _sums(timeline, lanes, start_ns, end_ns)
            host = sums.top(tuple(range(len(CATEGORIES))), GAP_NAMES)
    return Gap(device, start_ns, end_ns, title, host)


@per_trace
def _feeders(trace: Trace) -> dict[int, int]:
    """Per device the row of the trace from which most of its work is launched."""
    work = trace.device_work.select("device", "launch").drop_nulls()
    device = work["device"].to_numpy()
    row = trace.slices["track"].gather(work["launch"]).to_numpy()
    feeders: dict[int, int] = {}
    for number in np.unique(device).tolist():
        counts: Float64 = np.bincount(row[device == number]).astype(np.float64)
        feeders[number] = int(np.argmax(counts))
    return feeders
