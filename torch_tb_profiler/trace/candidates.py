"""Which process's call launched device work, where several processes count the ids.

A row of a device carries the device's number as its pid, so a file does not write which process
its work belongs to, and the correlation ids of every process may count from 1. The rules are those
of ``docs/metrics.md#several-processes-in-one-file``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.lookup import dense_pair_ids

MAX_CANDIDATES = 2**25
"""Pairs of work and calls that are looked at; beyond, the work with most candidates is left out."""

ANY_CANDIDATES = 2**20
CANDIDATES_PER_WORK = 64
"""So many are looked at in any file, and of more work so many each: far beyond, a file of two
megabytes would take as many gigabytes of memory."""

MAX_LOOKS = 2**27
"""Pairs looked at in all rounds together; then what is not settled stays so. Eight ranks with a
million kernels take a third of it."""


@dataclass(frozen=True, slots=True)
class Launchers:
    """The calls that count, one per correlation id and process, in order of id, then process.

    Attributes:
        correlation: Correlation ids, all > 0.
        process: Their processes, 0 ….
        start_ns: Their starts.
        row: Their places in the file.
        is_graph: Whether one call launches many kernels, as those of graphs do.
    """

    correlation: Int64
    process: Int32
    start_ns: Int64
    row: Int64
    is_graph: Bools


@dataclass(frozen=True, slots=True)
class Launchable:
    """Device work that looks for its launch.

    Attributes:
        correlation: Its correlation ids.
        start_ns: Its starts.
        row: Its places in the file.
        place: Number of the device it ran on, 0 ….
        track: Its track: a stream of that device.
    """

    correlation: Int64
    start_ns: Int64
    row: Int64
    place: Int64
    track: Int64


def infer_launches(calls: Launchers, work: Launchable, tolerance_ns: int) -> tuple[Int64, Bools]:
    """Per piece of work the row of its call, -1 for none; and whether it has none because calls of
    several processes could have launched it.
    """
    first = np.searchsorted(calls.correlation, work.correlation, "left")
    count = np.searchsorted(calls.correlation, work.correlation, "right") - first
    limit = min(MAX_CANDIDATES, max(ANY_CANDIDATES, CANDIDATES_PER_WORK * len(count)))
    most = max(limit // max(len(count), 1), 1)
    rows = np.flatnonzero((count > 0) & (count <= most))
    row = np.full(len(count), -1, np.int64)
    is_ambiguous = count > most
    if len(rows):
        row[rows], is_ambiguous[rows] = _Candidates(calls, work, rows, first, count).chosen(
            tolerance_ns
        )
    return row, is_ambiguous


class _Candidates:
    """Pairs of work and calls that could have launched it; those that cannot have are struck out.

    What one launch of a graph ran on one device is one unit, other work is a unit each. A unit is
    regular where its correlation id has no more units than calls, so that each call launched one
    of them at most, and one of the calls precedes it.
    """

    def __init__(
        self, calls: Launchers, work: Launchable, rows: Int64, first: Int64, count: Int64
    ) -> None:
        self._calls = calls
        self._looks_left = MAX_LOOKS
        known = calls.correlation
        of_graph = np.bincount(np.searchsorted(known, known), calls.is_graph)[first[rows]] > 0
        unit_key = np.where(of_graph, -1 - work.place[rows], rows)
        self._head, self._unit_of_row = dense_pair_ids(first[rows], unit_key)
        self._start_ns = np.full(len(self._head), np.iinfo(np.int64).max)
        np.minimum.at(self._start_ns, self._unit_of_row, work.start_ns[rows])
        heads = rows[self._head]
        self._group = first[heads]
        self._row, self._place, self._track = work.row[heads], work.place[heads], work.track[heads]
        self._is_regular = np.bincount(self._group)[self._group] <= count[heads]
        self._unit = np.repeat(np.arange(len(heads)), count[heads])
        ends = np.cumsum(count[heads])
        within = np.arange(len(self._unit)) - np.repeat(ends - count[heads], count[heads])
        self._call = self._group[self._unit] + within

    def chosen(self, tolerance_ns: int) -> tuple[Int64, Bools]:
        """Per row of work its call, -1 where more than one is left, or none; and whether more are.

        A call after its work may be that of another process, or clocks disagree. It is taken where
        it is the only one of its id, and the device is known to be of its process.
        """
        only = (self._alternatives() == 1)[self._unit]
        early = self._calls.start_ns[self._call] <= self._start_ns[self._unit] + tolerance_ns
        is_late = np.bincount(self._unit[early], minlength=len(self._head)) == 0
        self._is_regular &= ~is_late
        self._keep(early | only)
        self._settle()
        self._keep_order()
        self._settle()
        owner = self._owners(self._place, self._unit, self._call)[self._place[self._unit]]
        self._keep(~is_late[self._unit] | (owner == self._calls.process[self._call]))
        call = np.full(len(self._head), -1, np.int64)
        call[self._unit] = self._call
        alternatives = self._alternatives()
        call[alternatives != 1] = -1
        return call[self._unit_of_row], (alternatives > 1)[self._unit_of_row]

    def _keep(self, kept: Bools) -> bool:
        """Strike the other pairs out; whether there were any, and it may go on."""
        self._looks_left -= len(kept)
        self._unit, self._call = self._unit[kept], self._call[kept]
        return not kept.all() and self._looks_left > 0

    def _alternatives(self) -> Int64:
        """Per unit how many calls are left."""
        return np.bincount(self._unit, minlength=len(self._head))

    def _settle(self) -> None:
        while self._looks_left > 0 and (
            self._strike_taken()
            or self._strike_foreign(self._place)
            or self._strike_foreign(self._track)
        ):
            pass

    def _strike_taken(self) -> bool:
        """A call that is the only one left for some unit launched no other one of its id."""
        sure = (self._is_regular & (self._alternatives() == 1))[self._unit]
        taken = np.zeros(len(self._calls.correlation), np.bool_)
        taken[self._call[sure]] = True
        return self._keep(sure | ~taken[self._call])

    def _strike_foreign(self, where: Int64) -> bool:
        """Calls of other processes, where one process owns the device or stream."""
        owner = self._owners(where, self._unit, self._call)[where[self._unit]]
        return self._keep((owner < 0) | (owner == self._calls.process[self._call]))

    def _owners(self, where: Int64, unit: Int64, call: Int64) -> Int64:
        """Per device or stream the one process that has a call for every regular unit there; -1
        where no or several processes have, or one id is there twice."""
        size = int(where.max()) + 1
        at = where[self._is_regular]
        needed = np.bincount(at, minlength=size)
        _, group_at = dense_pair_ids(at, self._group[self._is_regular])
        repeated = np.bincount(group_at)[group_at] > 1
        needed[at[repeated]] = -1
        regular = self._is_regular[unit]
        processes = int(self._calls.process.max()) + 1
        keys, calls = np.unique(
            where[unit[regular]] * processes + self._calls.process[call[regular]],
            return_counts=True,
        )
        able = keys[calls == needed[keys // processes]]
        owner = np.full(size, -1, np.int64)
        owner[able // processes] = able % processes
        owner[np.bincount(able // processes, minlength=size) != 1] = -1
        return owner

    def _keep_order(self) -> None:
        """Where as many calls as units of one id are left, pair them in order of time. Believe it
        of a device all of whose pairs then name one process, and of units that share a stream,
        which runs its work in the order of the launches."""
        ordered = self._in_order()
        wanted = ordered[self._unit]
        supposed = (wanted < 0) | (wanted == self._call)
        unit, call = self._unit[supposed], self._call[supposed]
        for where in (self._place, self._track):
            owner = self._owners(where, unit, call)[where[self._unit]]
            self._keep((owner < 0) | (owner == self._calls.process[self._call]))
        in_stream = self._in_stream_order(ordered)[self._unit]
        self._keep(~in_stream | (ordered[self._unit] == self._call))

    def _in_order(self) -> Int64:
        """Per contested unit the call at its place in time (in the file, at the same time) among
        those of its id; -1 where their numbers differ or the call was struck out."""
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
        is_left = np.zeros(len(self._head), np.bool_)
        is_left[self._unit[ordered[self._unit] == self._call]] = True
        even[self._group[units[~is_left[units]]]] = False
        ordered[units[~even[self._group[units]]]] = -1
        return ordered

    def _in_stream_order(self, ordered: Int64) -> Bools:
        """Per unit whether all contested units of its id are on one stream, and all such units of
        the stream follow one another as their calls do."""
        units = np.flatnonzero(ordered >= 0)
        group, track = self._group[units], self._track[units]
        _, number = dense_pair_ids(group, track)
        here, there = np.bincount(number)[number], np.bincount(group)[group]
        units = units[here == there]
        units = units[np.lexsort((self._row[units], self._start_ns[units], self._track[units]))]
        track, starts = self._track[units], self._calls.start_ns[ordered[units]]
        astray = track[1:][(np.diff(track) == 0) & (np.diff(starts) < 0)]
        in_order = np.zeros(len(ordered), np.bool_)
        in_order[units[~np.isin(track, astray)]] = True
        return in_order
