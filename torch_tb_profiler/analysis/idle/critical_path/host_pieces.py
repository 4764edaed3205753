"""Host work in a step: per thread and moment the innermost slice, waits left out.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.algebra.grouped_intervals import running_maximum
from torch_tb_profiler.analysis.communication.roles import Role, slice_roles
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.host_threads import PIECE_NS
from torch_tb_profiler.analysis.idle.waits import waits
from torch_tb_profiler.trace.categories import (
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.nesting import Forest, NestedSpans, nest

_WORK = (Category.OPERATOR, Category.PYTHON_OPERATOR, Category.RUNTIME)
"""Work of the thread itself: ranges and frames may wait for another thread."""

_PART_OF_CATEGORY = {
    Category.OPERATOR: PathPart.OPERATOR,
    Category.PYTHON_OPERATOR: PathPart.OPERATOR,
    Category.RUNTIME: PathPart.RUNTIME,
    Category.DATALOADER: PathPart.DATA_LOADING,
}


class HostPieces(Struct, frozen=True, eq=False):
    """Pieces of host threads in a step, by thread and time.

    Attributes:
        track: Track of each.
        start_ns, end_ns: Times of the trace, cut at the edges of the step.
        slice: The innermost slice, -1 where there is none.
        part: Category of each (:class:`PathPart`).
        is_working: Whether the thread works itself.
    """

    track: Int64
    start_ns: Int64
    end_ns: Int64
    slice: Int64
    part: Int64
    is_working: Bools

    def select(self, rows: Bools | Int64) -> HostPieces:
        """Some of them."""
        return HostPieces(
            self.track[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.slice[rows],
            self.part[rows],
            self.is_working[rows],
        )


class ThreadIntervals(Struct, frozen=True, eq=False):
    """Intervals on threads, in any order.

    Attributes:
        track: Track of each.
        start_ns, end_ns: When it starts and ends.
    """

    track: Int64
    start_ns: Int64
    end_ns: Int64


@per_trace
def _loading(trace: Trace) -> ThreadIntervals:
    rows = np.flatnonzero(trace.slices["category"].to_numpy() == Category.DATALOADER)
    start = trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    return ThreadIntervals(trace.slices["track"].to_numpy()[rows].astype(np.int64), start, end)


class _Candidates(Struct, frozen=True, eq=False):
    """Slices of host threads, by thread and start.

    Attributes:
        id: Their ids.
        start_ns, end_ns: When they ran.
        reach_ns: Running maximum of the ends on the thread.
        boundaries: First row of each thread, and the number of rows.
    """

    id: Int64
    start_ns: Int64
    end_ns: Int64
    reach_ns: Int64
    boundaries: tuple[int, ...]

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """The rows of those that overlap a window."""
        rows = [np.empty(0, np.int64)]
        for first, last in itertools.pairwise(self.boundaries):
            begin = first + int(np.searchsorted(self.reach_ns[first:last], start_ns, "right"))
            until = first + int(np.searchsorted(self.start_ns[first:last], end_ns, "left"))
            rows.append(begin + np.flatnonzero(self.end_ns[begin:until] > start_ns))
        return np.concatenate(rows)


@per_trace
def _candidates(trace: Trace) -> _Candidates:
    """The slices of host threads that can be pieces."""
    category = trace.slices["category"].to_numpy()
    host_categories = (*NODE_CATEGORIES, *PYTHON_CATEGORIES, Category.RUNTIME)
    is_device = trace.tracks.sort("track")["is_device"].fill_null(value=False).to_numpy()
    chosen = np.isin(category, host_categories) & ~is_device[trace.slices["track"].to_numpy()]
    ids = np.flatnonzero(chosen & (trace.slices["dur_ns"].to_numpy() > 0))
    start = trace.slices["start_ns"].to_numpy()[ids]
    end = start + trace.slices["dur_ns"].to_numpy()[ids]
    track = trace.slices["track"].to_numpy()[ids].astype(np.int64)
    reach = running_maximum(track, end) if len(ids) else end
    edges = np.flatnonzero(np.diff(track)) + 1
    return _Candidates(ids, start, end, reach, (0, *edges.tolist(), len(ids)))


class HostSlices(Struct, frozen=True, eq=False):
    """Slices of the threads that ran operators or calls in a step, by thread and start.

    Attributes:
        id: Their ids.
        times: When they ran.
        forest: Their nesting; its ids are indices into ``id``. None without slices.
        step: Start and end of the step.
    """

    id: Int64
    times: ThreadIntervals
    forest: Forest | None
    step: tuple[int, int]


def host_slices(trace: Trace, start_ns: int, end_ns: int) -> HostSlices:
    """The slices of host threads in a step, nested."""
    every = _candidates(trace)
    rows = every.inside(start_ns, end_ns)
    ids, begin, end = every.id[rows], every.start_ns[rows], every.end_ns[rows]
    track = trace.slices["track"].to_numpy()[ids].astype(np.int64)
    category = trace.slices["category"].to_numpy()[ids]
    works = np.isin(category, (*_WORK, Category.DATALOADER))
    busy = np.isin(track, distinct_values(track[works]))
    ids, begin, end, track = ids[busy], begin[busy], end[busy], track[busy]
    forest = None
    if len(ids):
        forest = nest(NestedSpans(track.astype(np.int32), begin, end), np.arange(len(ids)), 0)
    return HostSlices(ids, ThreadIntervals(track, begin, end), forest, (start_ns, end_ns))


def host_pieces(trace: Trace, slices: HostSlices, waiting: ThreadIntervals) -> HostPieces:
    """The pieces of the threads of a step, waits left out.

    Args:
        trace: The recording.
        slices: Their slices.
        waiting: When threads wait; this time is left out.
    """
    if slices.forest is None:
        none = np.empty(0, np.int64)
        return HostPieces(none, none, none, none, none, none.astype(np.bool_))
    track, start, end = _segments(slices.times, waiting, *slices.step)
    innermost = slices.forest.innermost(track.astype(np.int32), start)
    pieces = _classify(trace, track, start, end, gather(slices.id, innermost))
    return _merge_adjacent(pieces.select(~_inside(pieces.track, pieces.start_ns, waiting)))


def _segments(
    slices: ThreadIntervals, waiting: ThreadIntervals, start_ns: int, end_ns: int
) -> tuple[Int64, Int64, Int64]:
    """The segments between the moments at which a slice or wait starts or ends on a thread: track,
    start and end."""
    track, begin, end = slices.track, slices.start_ns, slices.end_ns
    threads = distinct_values(track)
    mine = np.isin(waiting.track, threads)
    tracks = np.concatenate(
        (track, track, waiting.track[mine], waiting.track[mine], threads, threads)
    )
    moments = np.concatenate(
        (
            begin,
            end,
            waiting.start_ns[mine],
            waiting.end_ns[mine],
            np.full(len(threads), start_ns),
            np.full(len(threads), end_ns),
        )
    )
    moments = np.clip(moments, start_ns, end_ns)
    order = np.lexsort((moments, tracks))
    tracks, moments = tracks[order], moments[order]
    filled = np.flatnonzero((tracks[1:] == tracks[:-1]) & (moments[1:] > moments[:-1]))
    return tracks[filled], moments[filled], moments[filled + 1]


def _classify(trace: Trace, track: Int64, start: Int64, end: Int64, slice_id: Int64) -> HostPieces:
    """Pieces with their categories."""
    category = gather(trace.slices["category"].to_numpy(), slice_id)
    part_of = np.full(len(Category) + 1, PathPart.PYTHON, np.int64)
    for each, path_part in _PART_OF_CATEGORY.items():
        part_of[each] = path_part
    part: Int64 = part_of[category]
    in_slice = slice_id >= 0
    part[in_slice & (slice_roles(trace)[slice_id] == Role.COMMUNICATION)] = PathPart.COMMUNICATION
    changes = track[1:] != track[:-1]
    at_edge = np.append(True, changes)[: len(track)] | np.append(changes, True)[-len(track) :]
    long = end - start >= PIECE_NS
    part[((category == -1) & (at_edge | long)) | ((category == Category.STEP) & long)] = (
        PathPart.UNKNOWN
    )
    part[(part != PathPart.RUNTIME) & _inside(track, start, _loading(trace))] = (
        PathPart.DATA_LOADING
    )
    part[in_slice & _is_wait(trace)[slice_id]] = PathPart.SYNC_RETURN
    is_working = np.isin(category, _WORK) | (part == PathPart.DATA_LOADING)
    return HostPieces(track, start, end, slice_id, part, is_working)


@per_trace
def _is_wait(trace: Trace) -> Bools:
    mask = np.zeros(trace.slices.height, np.bool_)
    mask[waits(trace)["id"].to_numpy()] = True
    mask &= trace.slices["category"].to_numpy() == Category.RUNTIME
    return mask


def _inside(track: Int64, moment: Int64, intervals: ThreadIntervals) -> Bools:
    """Which moments of threads lie in one of the intervals."""
    inside = np.zeros(len(track), np.bool_)
    for number in distinct_values(intervals.track).tolist():
        mine = intervals.track == number
        start, end = intervals.start_ns[mine], intervals.end_ns[mine]
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        rows = np.flatnonzero(track == number)
        last = np.searchsorted(start, moment[rows], "right") - 1
        inside[rows] = (last >= 0) & (end[np.maximum(last, 0)] > moment[rows])
    return inside


def _merge_adjacent(pieces: HostPieces) -> HostPieces:
    """Merge adjacent pieces of the same slice and part."""
    if not len(pieces.track):
        return pieces
    opens = np.append(
        True,
        (pieces.track[1:] != pieces.track[:-1])
        | (pieces.start_ns[1:] != pieces.end_ns[:-1])
        | (pieces.slice[1:] != pieces.slice[:-1])
        | (pieces.part[1:] != pieces.part[:-1]),
    )
    # A moment until which another thread waits for this one stays a boundary: it is looked up.
    ends = pieces.end_ns[np.append(np.flatnonzero(opens)[1:], len(opens)) - 1]
    first = pieces.select(opens)
    return HostPieces(first.track, first.start_ns, ends, first.slice, first.part, first.is_working)


def call_times(trace: Trace, launch: Int64) -> tuple[Int64, Int64]:
    """Start and end of the calls that launched work; -1 for a launch of -1."""
    start = gather(trace.slices["start_ns"].to_numpy(), launch)
    end = start + np.where(launch >= 0, gather(trace.slices["dur_ns"].to_numpy(), launch), 0)
    return start, end


def tracks_of(trace: Trace, slices: Int64) -> Int64:
    """The track of each slice, -1 for a slice of -1."""
    return gather(trace.slices["track"].to_numpy(), slices).astype(np.int64)
