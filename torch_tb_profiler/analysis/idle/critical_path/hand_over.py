"""Where host threads wait for each other: the backward pass on a thread of its own.

Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.critical_path.host import HostPieces, Stretches, tracks_of
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class HandOvers:
    """Waits of threads for others.

    Attributes:
        waited: When each thread waited.
        other: Track of the thread that it waited for.
    """

    waited: Stretches
    other: Int64


@per_trace
def backward_threads(trace: Trace) -> list[tuple[int, int]]:
    """Pairs of tracks: a thread, and one that runs backward operators of what it ran forward."""
    forward, backward = indices(trace.operators["forward"]), indices(trace.operators["slice"])
    known = forward >= 0
    mine = tracks_of(trace, forward[known])
    other = tracks_of(trace, backward[known])
    apart = mine != other
    return [
        tuple(pair) for pair in np.unique(np.stack((mine[apart], other[apart])), axis=1).T.tolist()
    ]


def hand_overs(trace: Trace, pieces: HostPieces) -> HandOvers:
    """The waits in a step: a thread that works on after another one has worked meanwhile."""
    found: list[tuple[Int64, Int64, int, int]] = []
    for mine, other in backward_threads(trace):
        ours, theirs = _hard(pieces, mine), _hard(pieces, other)
        if len(ours[0]) and len(theirs[0]):
            found.append((*_worked_meanwhile(pieces, mine, theirs), mine, other))
            found.append((*_worked_meanwhile(pieces, other, ours, whole=True), other, mine))
    none = np.empty(0, np.int64)
    start = np.concatenate([none, *(each[0] for each in found)])
    end = np.concatenate([none, *(each[1] for each in found)])
    track = np.concatenate([none, *(np.full(len(each[0]), each[2]) for each in found)])
    other_track = np.concatenate([none, *(np.full(len(each[0]), each[3]) for each in found)])
    return HandOvers(Stretches(track, start, end), other_track)


def _hard(pieces: HostPieces, track: int) -> tuple[Int64, Int64]:
    rows = np.flatnonzero((pieces.track == track) & pieces.is_hard)
    return pieces.start_ns[rows], pieces.end_ns[rows]


def _worked_meanwhile(
    pieces: HostPieces, track: int, other: tuple[Int64, Int64], *, whole: bool = False
) -> tuple[Int64, Int64]:
    """The stretches in which a thread does nothing itself and another one works.

    From the first work of the other that lies in such a stretch to the end of its last; ``whole``:
    from end to end.
    """
    rows = np.flatnonzero(pieces.track == track)
    soft = ~pieces.is_hard[rows]
    opens = soft & np.append(True, ~soft[:-1])
    closes = soft & np.append(~soft[1:], True)
    begin, end = pieces.start_ns[rows[opens]], pieces.end_ns[rows[closes]]
    starts, ends = other
    first = np.searchsorted(starts, begin, "left")
    last = np.searchsorted(ends, end, "right") - 1
    some = first <= last
    begin, end, first, last = begin[some], end[some], first[some], last[some]
    if whole:
        return begin, end
    return starts[first], ends[last]
