"""From device to host: which CANN call launched a task, and which operator made the call.

A task and the call that launched it share a connection id; several tasks may share it (a batch).
With a task queue the call runs on a separate thread, inside the range that dequeues an entry; that
entry was enqueued by a range inside the operator. The recorder also draws one arrow from the
operator to the task. The arrow replaces the chain where no calls were recorded; elsewhere the chain
is compared with it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.clock import TrackClock
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.lookup import positions_in

NONE = -1


class SliceTimes(Struct, frozen=True):
    """Track, start and duration of all slices, in file order."""

    track: Int32
    start_ns: Int64
    dur_ns: Int64


class SlicesWithId(Struct, frozen=True):
    """Slices (rows), each with the id of a connection or of a queue entry."""

    rows: Int64
    ids: Int64

    def first_with(self, wanted: Int64) -> Int64:
        """Per wanted id the first row that has it; :data:`NONE` if no row has it or the id is
        absent."""
        known, first = np.unique(self.ids, return_index=True)
        rows = np.append(self.rows[first], NONE)[positions_in(known, wanted)]
        return np.where(wanted == ABSENT, NONE, rows)


class TaskQueue(Struct, frozen=True):
    """The ranges of a task queue, each with the id of its entry.

    Attributes:
        enqueues: Ranges that put an entry on the queue.
        dequeues: Ranges that process an entry; on one thread they do not overlap.
    """

    enqueues: SlicesWithId
    dequeues: SlicesWithId


class LaunchChain(Struct, frozen=True):
    """What launched each piece of device work, and what owns each call.

    Attributes:
        launch: Per slice the row of the call, or of the operator where there is no call.
        owner: Per call on a thread that processes a queue, the row that enqueued the entry; where
            no queue was recorded, the operator that the arrow comes from.
        unlinked_count: Pieces of device work without a launch.
        mismatch_count: Pieces whose arrow comes from an operator that does not contain the end of
            the chain.
    """

    launch: Int64
    owner: Int64
    unlinked_count: int
    mismatch_count: int


def link_launches(
    slices: SliceTimes, work: SlicesWithId, calls: SlicesWithId, queue: TaskQueue, arrow: Int64
) -> LaunchChain:
    """Link the device work of a recording with its calls and operators.

    Args:
        slices: All slices.
        work: Device work with its connection ids; :data:`ABSENT` where none was recorded.
        calls: CANN calls with theirs.
        queue: The task queue.
        arrow: Per piece of work the operator that the recorder's arrow comes from, or NONE.
    """
    launch = np.full(len(slices.start_ns), NONE, np.int64)
    owner = np.full(len(slices.start_ns), NONE, np.int64)
    call = calls.first_with(work.ids)
    launch[work.rows] = np.where(call >= 0, call, arrow)
    take = _enclosing_ranges(slices, queue.dequeues.rows, calls.rows)
    entry = np.append(queue.dequeues.ids, ABSENT)[take]
    owner[calls.rows] = queue.enqueues.first_with(entry)
    _set_owner_by_arrow(slices, owner, call, arrow)
    return LaunchChain(
        launch,
        owner,
        unlinked_count=int((launch[work.rows] < 0).sum()),
        mismatch_count=_count_mismatches(slices, call, owner, arrow),
    )


def _set_owner_by_arrow(slices: SliceTimes, owner: Int64, call: Int64, arrow: Int64) -> None:
    """Set the owner of calls that run on another thread than the operator whose work they launch,
    where no queue was recorded: only the arrow links them. In place."""
    both = np.flatnonzero((call >= 0) & (arrow >= 0))
    both = both[owner[call[both]] < 0]
    on_other_thread = both[slices.track[call[both]] != slices.track[arrow[both]]]
    owner[call[on_other_thread[::-1]]] = arrow[on_other_thread[::-1]]


def starting_at(slices: SliceTimes, rows: Int64, track: Int32, time_ns: Int64) -> Int64:
    """Per track and time the one of ``rows`` that starts there, within 1 ns; NONE for none."""
    order, keys, clock = _by_start(slices, rows)
    matches = np.full(len(time_ns), NONE, np.int64)
    for shift in (1, -1, 0):
        position = positions_in(keys, clock.keys(track, time_ns + shift))
        matches = np.where(position >= 0, np.append(rows[order], NONE)[position], matches)
    return matches


def _by_start(slices: SliceTimes, rows: Int64) -> tuple[Int64, Int64, TrackClock]:
    """Positions in ``rows``, one per track and start, in order; their keys, and the clock of the
    keys."""
    clock = TrackClock(
        np.concatenate((slices.start_ns[rows] - 1, slices.start_ns[rows] + 1)),
        int(slices.track.max(initial=0)) + 1,
    )
    keys, first = np.unique(
        clock.keys(slices.track[rows], slices.start_ns[rows]), return_index=True
    )
    return first, keys, clock


def _enclosing_ranges(slices: SliceTimes, ranges: Int64, inner: Int64) -> Int64:
    """Per row of ``inner`` the position in ``ranges`` of the range of its track in which it
    starts."""
    if not len(ranges):
        return np.full(len(inner), NONE, np.int64)
    order, keys, clock = _by_start(slices, ranges)
    start, track = slices.start_ns[inner], slices.track[inner]
    position = np.searchsorted(keys, clock.keys(track, start), "right") - 1
    row = ranges[order[position]]
    is_inside = (position >= 0) & (slices.track[row] == track)
    is_inside &= start <= slices.start_ns[row] + slices.dur_ns[row]
    return np.where(is_inside, order[position], NONE)


def _count_mismatches(slices: SliceTimes, call: Int64, owner: Int64, arrow: Int64) -> int:
    both = np.flatnonzero((call >= 0) & (arrow >= 0))
    end = np.where(owner[call[both]] >= 0, owner[call[both]], call[both])
    operator = arrow[both]
    start = slices.start_ns[end]
    contains_end = (slices.track[operator] == slices.track[end]) & (
        start >= slices.start_ns[operator]
    )
    contains_end &= start <= slices.start_ns[operator] + slices.dur_ns[operator]
    return int((~contains_end).sum())
