"""Match device work to launches where several processes use the same correlation ids.

A device row has the device's number as its pid, so a file does not state which process its work
belongs to, and the correlation ids of every process may count from 1. The rules are in
``docs/metrics.md#several-processes-in-one-file``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.lookup import dense_pair_ids

MAX_CANDIDATES = 2**25
"""Pairs of work and calls that are considered; beyond, the work with most candidates is not
matched."""

ANY_CANDIDATES = 2**20
CANDIDATES_PER_WORK = 64
"""Candidates considered in any file, and per piece of work: without the limit a file of two
megabytes could take as many gigabytes of memory."""

MAX_PAIRS = 2**27
"""Pairs evaluated in all rounds together; what is undecided then stays so. Eight ranks with a
million kernels take a third of it."""


class Launchers(Struct, frozen=True):
    """The calls to consider, one per correlation id and process, in order of id, then process.

    Attributes:
        correlation: Correlation ids, all > 0.
        process: Their processes, 0 ….
        start_ns: Their starts.
        row: Their rows in the file.
        is_graph: Whether one call launches many kernels, as a graph launch does.
    """

    correlation: Int64
    process: Int32
    start_ns: Int64
    row: Int64
    is_graph: Bools


class Launchable(Struct, frozen=True):
    """Device work to be matched with its launch.

    Attributes:
        correlation: Its correlation ids.
        start_ns: Its starts.
        row: Its rows in the file.
        device_index: Index of the device it ran on, 0 ….
        track: Its track: a stream of that device.
    """

    correlation: Int64
    start_ns: Int64
    row: Int64
    device_index: Int64
    track: Int64


def infer_launches(calls: Launchers, work: Launchable, tolerance_ns: int) -> tuple[Int64, Bools]:
    """Per piece of work the row of its call, -1 for none; and whether it has none because calls of
    several processes could have launched it."""
    first = np.searchsorted(calls.correlation, work.correlation, "left")
    count = np.searchsorted(calls.correlation, work.correlation, "right") - first
    limit = min(MAX_CANDIDATES, max(ANY_CANDIDATES, CANDIDATES_PER_WORK * len(count)))
    most_candidates = max(limit // max(len(count), 1), 1)
    rows = np.flatnonzero((count > 0) & (count <= most_candidates))
    row = np.full(len(count), -1, np.int64)
    is_ambiguous = count > most_candidates
    if len(rows):
        row[rows], is_ambiguous[rows] = _Candidates(calls, work, rows, first, count).resolve(
            tolerance_ns
        )
    return row, is_ambiguous


class _Candidates:
    """Pairs of work and calls that could have launched it; impossible pairs are eliminated.

    The work of one graph launch on one device is one unit, any other piece of work is a unit by
    itself. A unit is regular if its correlation id has no more units than calls, so that each call
    launched at most one of them, and one of the calls precedes it.
    """

    def __init__(
        self, calls: Launchers, work: Launchable, rows: Int64, first: Int64, count: Int64
    ) -> None:
        self._calls = calls
        self._remaining_pairs = MAX_PAIRS
        known = calls.correlation
        of_graph = np.bincount(np.searchsorted(known, known), calls.is_graph)[first[rows]] > 0
        unit_key = np.where(of_graph, -1 - work.device_index[rows], rows)
        self._head, self._unit_of_row = dense_pair_ids(first[rows], unit_key)
        self._start_ns = np.full(len(self._head), np.iinfo(np.int64).max)
        np.minimum.at(self._start_ns, self._unit_of_row, work.start_ns[rows])
        heads = rows[self._head]
        self._group = first[heads]
        self._row, self._device, self._track = (
            work.row[heads],
            work.device_index[heads],
            work.track[heads],
        )
        self._is_regular = np.bincount(self._group)[self._group] <= count[heads]
        self._unit = np.repeat(np.arange(len(heads)), count[heads])
        ends = np.cumsum(count[heads])
        within = np.arange(len(self._unit)) - np.repeat(ends - count[heads], count[heads])
        self._call = self._group[self._unit] + within

    def resolve(self, tolerance_ns: int) -> tuple[Int64, Bools]:
        """Per row of work its call, -1 if several candidates remain, or none; and whether several
        do.

        A call after its work may belong to another process, or clocks disagree. It is accepted if
        it is the only one of its id, and the device is known to belong to its process.
        """
        only = (self._alternatives() == 1)[self._unit]
        early = self._calls.start_ns[self._call] <= self._start_ns[self._unit] + tolerance_ns
        is_late = np.bincount(self._unit[early], minlength=len(self._head)) == 0
        self._is_regular &= ~is_late
        self._retain(early | only)
        self._eliminate()
        self._apply_order()
        self._eliminate()
        owner = self._owners(self._device, self._unit, self._call)[self._device[self._unit]]
        self._retain(~is_late[self._unit] | (owner == self._calls.process[self._call]))
        call = np.full(len(self._head), -1, np.int64)
        call[self._unit] = self._call
        alternatives = self._alternatives()
        call[alternatives != 1] = -1
        return call[self._unit_of_row], (alternatives > 1)[self._unit_of_row]

    def _retain(self, retained: Bools) -> bool:
        """Eliminate the other pairs; returns whether there were any and the budget allows more."""
        self._remaining_pairs -= len(retained)
        self._unit, self._call = self._unit[retained], self._call[retained]
        return not retained.all() and self._remaining_pairs > 0

    def _alternatives(self) -> Int64:
        """Number of remaining calls per unit."""
        return np.bincount(self._unit, minlength=len(self._head))

    def _eliminate(self) -> None:
        while self._remaining_pairs > 0 and (
            self._eliminate_taken()
            or self._eliminate_foreign(self._device)
            or self._eliminate_foreign(self._track)
        ):
            pass

    def _eliminate_taken(self) -> bool:
        """A call that is the only one left for some unit did not launch any other unit of its
        id."""
        sure = (self._is_regular & (self._alternatives() == 1))[self._unit]
        taken = np.zeros(len(self._calls.correlation), np.bool_)
        taken[self._call[sure]] = True
        return self._retain(sure | ~taken[self._call])

    def _eliminate_foreign(self, location: Int64) -> bool:
        """Eliminate calls of other processes where one process owns the device or stream."""
        owner = self._owners(location, self._unit, self._call)[location[self._unit]]
        return self._retain((owner < 0) | (owner == self._calls.process[self._call]))

    def _owners(self, location: Int64, unit: Int64, call: Int64) -> Int64:
        """Per device or stream the one process that has a call for every regular unit there; -1 if
        no process or several have, or if one id occurs there twice."""
        size = int(location.max()) + 1
        location_of_unit = location[self._is_regular]
        needed = np.bincount(location_of_unit, minlength=size)
        _, group_id = dense_pair_ids(location_of_unit, self._group[self._is_regular])
        repeated = np.bincount(group_id)[group_id] > 1
        needed[location_of_unit[repeated]] = -1
        regular = self._is_regular[unit]
        processes = int(self._calls.process.max()) + 1
        keys, calls = np.unique(
            location[unit[regular]] * processes + self._calls.process[call[regular]],
            return_counts=True,
        )
        complete = keys[calls == needed[keys // processes]]
        owner = np.full(size, -1, np.int64)
        owner[complete // processes] = complete % processes
        owner[np.bincount(complete // processes, minlength=size) != 1] = -1
        return owner

    def _apply_order(self) -> None:
        """Where as many calls as units of one id remain, pair them in order of time. Accept the
        pairs of a device if all of them agree on one process, and of units that share a stream, as
        a stream runs its work in launch order."""
        ordered = self._pair_in_order()
        expected_call = ordered[self._unit]
        is_consistent = (expected_call < 0) | (expected_call == self._call)
        unit, call = self._unit[is_consistent], self._call[is_consistent]
        for location in (self._device, self._track):
            owner = self._owners(location, unit, call)[location[self._unit]]
            self._retain((owner < 0) | (owner == self._calls.process[self._call]))
        in_stream = self._in_stream_order(ordered)[self._unit]
        self._retain(~in_stream | (ordered[self._unit] == self._call))

    def _pair_in_order(self) -> Int64:
        """Per contested unit the call of the same rank in time (in the file, at equal times) among
        those of its id; -1 if their numbers differ or the call was eliminated."""
        contested = (self._is_regular & (self._alternatives() > 1))[self._unit]
        units, calls = np.unique(self._unit[contested]), np.unique(self._call[contested])
        known = self._calls.correlation
        id_of_call = np.searchsorted(known, known[calls], "left")
        id_of_unit = self._group[units]
        even = np.bincount(id_of_unit, minlength=len(known)) == np.bincount(
            id_of_call, minlength=len(known)
        )
        units, calls = units[even[id_of_unit]], calls[even[id_of_call]]
        units = units[np.lexsort((self._row[units], self._start_ns[units], self._group[units]))]
        starts, rows = self._calls.start_ns[calls], self._calls.row[calls]
        calls = calls[np.lexsort((rows, starts, known[calls]))]
        ordered = np.full(len(self._head), -1, np.int64)
        ordered[units] = calls
        is_candidate = np.zeros(len(self._head), np.bool_)
        is_candidate[self._unit[ordered[self._unit] == self._call]] = True
        even[self._group[units[~is_candidate[units]]]] = False
        ordered[units[~even[self._group[units]]]] = -1
        return ordered

    def _in_stream_order(self, ordered: Int64) -> Bools:
        """Per unit whether all contested units of its id are on one stream, and all such units of
        the stream are in the order of their calls."""
        units = np.flatnonzero(ordered >= 0)
        group, track = self._group[units], self._track[units]
        _, number = dense_pair_ids(group, track)
        in_stream_count, id_count = np.bincount(number)[number], np.bincount(group)[group]
        units = units[in_stream_count == id_count]
        units = units[np.lexsort((self._row[units], self._start_ns[units], self._track[units]))]
        track, starts = self._track[units], self._calls.start_ns[ordered[units]]
        unordered_tracks = track[1:][(np.diff(track) == 0) & (np.diff(starts) < 0)]
        in_order = np.zeros(len(ordered), np.bool_)
        in_order[units[~np.isin(track, unordered_tracks)]] = True
        return in_order
