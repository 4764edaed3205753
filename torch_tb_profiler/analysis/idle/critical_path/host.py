"""What host threads did in a step: for each moment the innermost slice, without waiting.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.algebra.grouped_intervals import running_maximum
from torch_tb_profiler.analysis.communication.roles import Role, slice_roles
from torch_tb_profiler.analysis.idle.critical_path.parts import Part
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
from torch_tb_profiler.trace.nesting import Forest, Spans, nest

_HARD = (Category.OPERATOR, Category.PYTHON_OPERATOR, Category.RUNTIME)
"""What a thread does itself: ranges and frames may wait for another thread."""

_PART_OF_CATEGORY = {
    Category.OPERATOR: Part.OPERATOR,
    Category.PYTHON_OPERATOR: Part.OPERATOR,
    Category.RUNTIME: Part.RUNTIME,
    Category.DATALOADER: Part.DATA_LOADING,
}


@dataclass(frozen=True, slots=True, eq=False)
class HostPieces:
    """Pieces of host threads in a step, by thread and time.

    Attributes:
        track: Track of each.
        start_ns, end_ns: Times of the trace, cut at the edges of the step.
        slice: The innermost slice, -1 where there is none.
        part: What it is spent on (:class:`Part`).
        is_hard: Whether the thread works itself.
    """

    track: Int64
    start_ns: Int64
    end_ns: Int64
    slice: Int64
    part: Int64
    is_hard: Bools

    def of(self, chosen: Bools | Int64) -> HostPieces:
        """Some of them."""
        return HostPieces(
            self.track[chosen],
            self.start_ns[chosen],
            self.end_ns[chosen],
            self.slice[chosen],
            self.part[chosen],
            self.is_hard[chosen],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Stretches of threads, in any order.

    Attributes:
        track, start_ns, end_ns: Where.
    """

    track: Int64
    start_ns: Int64
    end_ns: Int64


@per_trace
def _loading(trace: Trace) -> Stretches:
    rows = np.flatnonzero(trace.slices["category"].to_numpy() == Category.DATALOADER)
    start = trace.slices["start_ns"].to_numpy()[rows]
    end = start + trace.slices["dur_ns"].to_numpy()[rows]
    return Stretches(trace.slices["track"].to_numpy()[rows].astype(np.int64), start, end)


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Slices, by thread and start.

    Attributes:
        id: Their ids.
        start_ns, end_ns: When they ran.
        reach_ns: The last end so far on the thread.
        borders: Where each thread begins, and the end of the last.
    """

    id: Int64
    start_ns: Int64
    end_ns: Int64
    reach_ns: Int64
    borders: tuple[int, ...]

    def inside(self, start_ns: int, end_ns: int) -> Int64:
        """The rows of those that run at some time between."""
        found = [np.empty(0, np.int64)]
        for first, last in itertools.pairwise(self.borders):
            begin = first + int(np.searchsorted(self.reach_ns[first:last], start_ns, "right"))
            until = first + int(np.searchsorted(self.start_ns[first:last], end_ns, "left"))
            found.append(begin + np.flatnonzero(self.end_ns[begin:until] > start_ns))
        return np.concatenate(found)


@per_trace
def _may_be_pieces(trace: Trace) -> _Candidates:
    """The slices of host threads that tell what a thread does."""
    category = trace.slices["category"].to_numpy()
    of_host = (*NODE_CATEGORIES, *PYTHON_CATEGORIES, Category.RUNTIME)
    is_device = trace.tracks.sort("track")["is_device"].fill_null(value=False).to_numpy()
    chosen = np.isin(category, of_host) & ~is_device[trace.slices["track"].to_numpy()]
    ids = np.flatnonzero(chosen & (trace.slices["dur_ns"].to_numpy() > 0))
    start = trace.slices["start_ns"].to_numpy()[ids]
    end = start + trace.slices["dur_ns"].to_numpy()[ids]
    track = trace.slices["track"].to_numpy()[ids].astype(np.int64)
    reach = running_maximum(track, end) if len(ids) else end
    edges = np.flatnonzero(np.diff(track)) + 1
    return _Candidates(ids, start, end, reach, (0, *edges.tolist(), len(ids)))


@dataclass(frozen=True, slots=True, eq=False)
class HostSlices:
    """Slices of the threads that ran operators or calls in a step, by thread and start.

    Attributes:
        id: Their ids.
        of: When they ran.
        forest: Their nesting; its ids are places here. None without slices.
        step: Start and end of the step.
    """

    id: Int64
    of: Stretches
    forest: Forest | None
    step: tuple[int, int]


def host_slices(trace: Trace, start_ns: int, end_ns: int) -> HostSlices:
    """What threads did in a step, nested."""
    every = _may_be_pieces(trace)
    rows = every.inside(start_ns, end_ns)
    ids, begin, end = every.id[rows], every.start_ns[rows], every.end_ns[rows]
    track = trace.slices["track"].to_numpy()[ids].astype(np.int64)
    category = trace.slices["category"].to_numpy()[ids]
    works = np.isin(category, (*_HARD, Category.DATALOADER))
    busy = np.isin(track, np.unique(track[works]))
    ids, begin, end, track = ids[busy], begin[busy], end[busy], track[busy]
    forest = None
    if len(ids):
        forest = nest(Spans(track.astype(np.int32), begin, end), np.arange(len(ids)), 0)
    return HostSlices(ids, Stretches(track, begin, end), forest, (start_ns, end_ns))


def host_pieces(trace: Trace, slices: HostSlices, waiting: Stretches) -> HostPieces:
    """What the threads of a step did, without waiting.

    Args:
        trace: The recording.
        slices: Their slices.
        waiting: When threads wait for a device: these stretches are left out.
    """
    if slices.forest is None:
        none = np.empty(0, np.int64)
        return HostPieces(none, none, none, none, none, none.astype(np.bool_))
    here, edge, until = _boundaries(slices.of, waiting, *slices.step)
    found = slices.forest.innermost(here.astype(np.int32), edge)
    pieces = _told(trace, here, edge, until, gather(slices.id, found))
    kept = ~_inside(pieces.track, pieces.start_ns, waiting)
    return _joined(pieces.of(kept))


def _boundaries(
    of_slices: Stretches, waiting: Stretches, start_ns: int, end_ns: int
) -> tuple[Int64, Int64, Int64]:
    """The stretches between moments at which something begins or ends on a thread: track, start
    and end."""
    track, begin, end = of_slices.track, of_slices.start_ns, of_slices.end_ns
    threads = np.unique(track)
    mine = np.isin(waiting.track, threads)
    of = np.concatenate((track, track, waiting.track[mine], waiting.track[mine], threads, threads))
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
    order = np.lexsort((moments, of))
    of, moments = of[order], moments[order]
    filled = np.flatnonzero((of[1:] == of[:-1]) & (moments[1:] > moments[:-1]))
    return of[filled], moments[filled], moments[filled + 1]


def _told(trace: Trace, track: Int64, start: Int64, end: Int64, slice_: Int64) -> HostPieces:
    """Pieces with what they are spent on."""
    category = gather(trace.slices["category"].to_numpy(), slice_)
    of_category = np.full(len(Category) + 1, Part.PYTHON, np.int64)
    for each, what in _PART_OF_CATEGORY.items():
        of_category[each] = what
    part: Int64 = of_category[category]
    part[np.append(slice_roles(trace) == Role.COMMUNICATION, False)[slice_]] = Part.COMMUNICATION
    borders = track[1:] != track[:-1]
    at_edge = np.append(True, borders)[: len(track)] | np.append(borders, True)[-len(track) :]
    long = end - start >= PIECE_NS
    part[((category == -1) & (at_edge | long)) | ((category == Category.STEP) & long)] = (
        Part.UNKNOWN
    )
    part[(part != Part.RUNTIME) & _inside(track, start, _loading(trace))] = Part.DATA_LOADING
    part[np.append(_is_wait(trace), False)[slice_]] = Part.SYNC_RETURN
    hard = np.isin(category, _HARD) | (part == Part.DATA_LOADING)
    return HostPieces(track, start, end, slice_, part, hard)


@per_trace
def _is_wait(trace: Trace) -> Bools:
    mask = np.zeros(trace.slices.height, np.bool_)
    mask[waits(trace)["id"].to_numpy()] = True
    mask &= trace.slices["category"].to_numpy() == Category.RUNTIME
    return mask


def _inside(track: Int64, moment: Int64, stretches: Stretches) -> Bools:
    """Which moments of threads lie in one of the stretches."""
    inside = np.zeros(len(track), np.bool_)
    for number in np.unique(stretches.track).tolist():
        mine = stretches.track == number
        start, end = stretches.start_ns[mine], stretches.end_ns[mine]
        order = np.argsort(start, kind="stable")
        start, end = start[order], np.maximum.accumulate(end[order])
        rows = np.flatnonzero(track == number)
        place = np.searchsorted(start, moment[rows], "right") - 1
        inside[rows] = (place >= 0) & (end[np.maximum(place, 0)] > moment[rows])
    return inside


def _joined(pieces: HostPieces) -> HostPieces:
    """Neighbours of one slice and part as one piece."""
    if not len(pieces.track):
        return pieces
    opens = np.append(
        True,
        (pieces.track[1:] != pieces.track[:-1])
        | (pieces.start_ns[1:] != pieces.end_ns[:-1])
        | (pieces.slice[1:] != pieces.slice[:-1])
        | (pieces.part[1:] != pieces.part[:-1]),
    )
    # A moment at which somebody waits for the thread stays a border: both ends are looked up.
    ends = pieces.end_ns[np.append(np.flatnonzero(opens)[1:], len(opens)) - 1]
    first = pieces.of(opens)
    return HostPieces(first.track, first.start_ns, ends, first.slice, first.part, first.is_hard)


def call_ends(trace: Trace, launch: Int64) -> tuple[Int64, Int64]:
    """Start and end of the calls that launched work; -1 where there is none."""
    start = gather(trace.slices["start_ns"].to_numpy(), launch)
    end = start + np.where(launch >= 0, gather(trace.slices["dur_ns"].to_numpy(), launch), 0)
    return start, end


def tracks_of(trace: Trace, slices: Int64) -> Int64:
    """The track of each slice, -1 of none."""
    return gather(trace.slices["track"].to_numpy(), slices).astype(np.int64)
