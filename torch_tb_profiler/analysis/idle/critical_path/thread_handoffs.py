"""Waits of host threads for each other: the backward pass runs on a separate thread.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize_rows
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.critical_path.host_pieces import (
    HostPieces,
    ThreadIntervals,
    tracks_of,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class ThreadHandoffs(Struct, frozen=True, eq=False):
    """Waits of threads for others.

    Attributes:
        waited: When each thread waited.
        other: Track of the thread that it waited for.
    """

    waited: ThreadIntervals
    other: Int64


@per_trace
def backward_threads(trace: Trace) -> list[tuple[int, int]]:
    """Pairs of tracks: a forward thread, and one that runs backward operators for it."""
    forward, backward = indices(trace.operators["forward"]), indices(trace.operators["slice"])
    known = forward >= 0
    forward_track = tracks_of(trace, forward[known])
    backward_track = tracks_of(trace, backward[known])
    differs = forward_track != backward_track
    forward_track, backward_track = forward_track[differs], backward_track[differs]
    first, _ = factorize_rows(forward_track, backward_track)
    pairs = zip(forward_track[first].tolist(), backward_track[first].tolist(), strict=True)
    return list(pairs)


def thread_handoffs(trace: Trace, pieces: HostPieces) -> ThreadHandoffs:
    """The waits in a step: a thread continues after another one has worked in between."""
    waits: list[tuple[Int64, Int64, int, int]] = []
    for forward, backward in backward_threads(trace):
        before, after = _working(pieces, forward), _working(pieces, backward)
        if len(before[0]) and len(after[0]):
            waits.append((*_waiting_for(pieces, forward, after), forward, backward))
            waits.append((*_waiting_for(pieces, backward, before, whole=True), backward, forward))
    none = np.empty(0, np.int64)
    start = np.concatenate([none, *(each[0] for each in waits)])
    end = np.concatenate([none, *(each[1] for each in waits)])
    track = np.concatenate([none, *(np.full(len(each[0]), each[2]) for each in waits)])
    other_track = np.concatenate([none, *(np.full(len(each[0]), each[3]) for each in waits)])
    return ThreadHandoffs(ThreadIntervals(track, start, end), other_track)


def _working(pieces: HostPieces, track: int) -> tuple[Int64, Int64]:
    rows = np.flatnonzero((pieces.track == track) & pieces.is_working)
    return pieces.start_ns[rows], pieces.end_ns[rows]


def _waiting_for(
    pieces: HostPieces, track: int, other: tuple[Int64, Int64], *, whole: bool = False
) -> tuple[Int64, Int64]:
    """The stretches in which a thread does not work itself and another one does.

    From the start of the first work of the other in such a stretch to the end of its last;
    ``whole``: all of the stretch.
    """
    rows = np.flatnonzero(pieces.track == track)
    idle = ~pieces.is_working[rows]
    opens = idle & np.append(True, ~idle[:-1])
    closes = idle & np.append(~idle[1:], True)
    begin, end = pieces.start_ns[rows[opens]], pieces.end_ns[rows[closes]]
    starts, ends = other
    first = np.searchsorted(starts, begin, "left")
    last = np.searchsorted(ends, end, "right") - 1
    some = first <= last
    begin, end, first, last = begin[some], end[some], first[some], last[some]
    if whole:
        return begin, end
    return starts[first], ends[last]
