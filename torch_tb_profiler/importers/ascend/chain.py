"""From device to host: which call of CANN launched a task, and which operator made the call.

A task and the call that launched it carry one connection id; several tasks may carry it (a batch).
With a task queue the call runs on a thread of its own, inside the range that takes an entry off the
queue; that entry was put there by a range inside the operator. The recorder draws the whole way as
one arrow from operator to task, too: it stands in where the recording holds no calls, and is what
the chain is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.lookup import place_in

NONE = -1


@dataclass(frozen=True, slots=True)
class Slices:
    """Where all slices lie: track, start and duration, in file order."""

    track: Int32
    start_ns: Int64
    dur_ns: Int64


@dataclass(frozen=True, slots=True)
class Marked:
    """Slices (rows) with an id each: of a connection, or of an entry of a queue."""

    rows: Int64
    ids: Int64

    def first_with(self, wanted: Int64) -> Int64:
        """Per wanted id the first row that has it, :data:`NONE` for none and for absent ids."""
        known, first = np.unique(self.ids, return_index=True)
        place = place_in(known, wanted)
        found = np.append(self.rows[first], NONE)[place]
        return np.where(wanted == ABSENT, NONE, found)


@dataclass(frozen=True, slots=True)
class Queue:
    """The ranges of a task queue, with the entries they are about.

    Attributes:
        puts: What puts an entry on it.
        takes: What works an entry off; on one thread they do not overlap.
    """

    puts: Marked
    takes: Marked


@dataclass(frozen=True, slots=True)
class Chain:
    """What launched each piece of device work, and what owns each call.

    Attributes:
        launch: Per slice the row of the call, or of the operator where there is no call.
        owner: Per call on a thread that works off a queue, the row that put the entry there;
            where no queue was recorded, the operator that the arrow says.
        unlinked: Pieces of device work without either.
        differing: Pieces whose arrow comes from an operator that does not hold the end of the
            chain.
    """

    launch: Int64
    owner: Int64
    unlinked: int
    differing: int


def follow(slices: Slices, work: Marked, calls: Marked, queue: Queue, arrow: Int64) -> Chain:
    """The chain of a recording.

    Args:
        slices: All slices.
        work: Device work, with its connections; :data:`ABSENT` where it tells none.
        calls: Calls of CANN, with theirs.
        queue: The task queue.
        arrow: Per piece of work the operator from which the recorder drew an arrow, or NONE.
    """
    launch = np.full(len(slices.start_ns), NONE, np.int64)
    owner = np.full(len(slices.start_ns), NONE, np.int64)
    call = calls.first_with(work.ids)
    launch[work.rows] = np.where(call >= 0, call, arrow)
    take = _around_start(slices, queue.takes.rows, calls.rows)
    entry = np.append(queue.takes.ids, ABSENT)[take]
    owner[calls.rows] = queue.puts.first_with(entry)
    _own_by_arrow(slices, owner, call, arrow)
    return Chain(
        launch,
        owner,
        unlinked=int((launch[work.rows] < 0).sum()),
        differing=_differing(slices, call, owner, arrow),
    )


def _own_by_arrow(slices: Slices, owner: Int64, call: Int64, arrow: Int64) -> None:
    """Calls on another thread than the operator whose work they launch, for which no queue was
    recorded, are owned by it: the arrow alone tells. In place."""
    both = np.flatnonzero((call >= 0) & (arrow >= 0))
    both = both[owner[call[both]] < 0]
    away = both[slices.track[call[both]] != slices.track[arrow[both]]]
    owner[call[away[::-1]]] = arrow[away[::-1]]


def starting_at(slices: Slices, rows: Int64, track: Int32, time_ns: Int64) -> Int64:
    """Per track and time the one of ``rows`` that starts there, to a ns; NONE for none."""
    order, keys, clock = _by_start(slices, rows)
    found = np.full(len(time_ns), NONE, np.int64)
    for shift in (1, -1, 0):
        place = place_in(keys, clock.keys(track, time_ns + shift))
        found = np.where(place >= 0, np.append(rows[order], NONE)[place], found)
    return found


def _by_start(slices: Slices, rows: Int64) -> tuple[Int64, Int64, TrackClock]:
    """Places of ``rows`` by track and start, one of each, their keys, and the clock of these."""
    clock = TrackClock(
        np.concatenate((slices.start_ns[rows] - 1, slices.start_ns[rows] + 1)),
        int(slices.track.max(initial=0)) + 1,
    )
    keys, first = np.unique(
        clock.keys(slices.track[rows], slices.start_ns[rows]), return_index=True
    )
    return first, keys, clock


def _around_start(slices: Slices, ranges: Int64, inner: Int64) -> Int64:
    """Per row of ``inner`` the place in ``ranges`` of the one of its track that it starts in."""
    if not len(ranges):
        return np.full(len(inner), NONE, np.int64)
    order, keys, clock = _by_start(slices, ranges)
    start, track = slices.start_ns[inner], slices.track[inner]
    place = np.searchsorted(keys, clock.keys(track, start), "right") - 1
    row = ranges[order[place]]
    is_inside = (place >= 0) & (slices.track[row] == track)
    is_inside &= start <= slices.start_ns[row] + slices.dur_ns[row]
    return np.where(is_inside, order[place], NONE)


def _differing(slices: Slices, call: Int64, owner: Int64, arrow: Int64) -> int:
    both = np.flatnonzero((call >= 0) & (arrow >= 0))
    end = np.where(owner[call[both]] >= 0, owner[call[both]], call[both])
    operator = arrow[both]
    start = slices.start_ns[end]
    holds = (slices.track[operator] == slices.track[end]) & (start >= slices.start_ns[operator])
    holds &= start <= slices.start_ns[operator] + slices.dur_ns[operator]
    return int((~holds).sum())
