"""Starts that single precision leaves open by parts of a microsecond, from the order of the file.

Paddle writes the host events of a thread level by level: those that lie in no other one, then all
that lie in those, and so on, each level by time. Events of a level do not overlap, and begin no
earlier than what they lie in: of two short events in one microsecond that says which is in which.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import ColumnArrays, Int64

MAX_ROUNDS = 10
MAX_LEVELS = 500
"""A thread with more is not written level by level."""


def order_late_starts(slices: ColumnArrays, late: Int64, least: Int64, most: Int64) -> None:
    """Move starts of slices as little as their levels need, in place.

    Args:
        slices: The slices, in order of the file.
        late: Those that may be moved, ascending.
        least: Their earliest starts.
        most: Their latest starts.
    """
    earliest, latest = slices["start_ns"].copy(), slices["start_ns"].copy()
    earliest[late], latest[late] = least, most
    slices["start_ns"][late] = least
    others = [int(each) for each in (Category.RUNTIME, *DEVICE_CATEGORIES)]
    hosts = np.flatnonzero(~np.isin(slices["category"], others))
    is_late = np.zeros(len(earliest), np.bool_)
    is_late[late] = True
    tracks = np.unique(slices["track"][hosts[is_late[hosts]]])
    for track in tracks.tolist():
        rows = hosts[slices["track"][hosts] == track]
        start = _ordered(earliest[rows], latest[rows], np.maximum(slices["dur_ns"][rows], 0))
        slices["start_ns"][rows[is_late[rows]]] = start[is_late[rows]]
    _begin_in_host_events(slices, hosts, late, most)


def _begin_in_host_events(slices: ColumnArrays, hosts: Int64, late: Int64, most: Int64) -> None:
    """Let calls into a runtime begin no earlier than the host event before them in the file, which
    they lie in."""
    of_calls = np.flatnonzero(slices["category"][late] == int(Category.RUNTIME))
    calls = late[of_calls]
    position = np.searchsorted(hosts, calls) - 1
    owner = hosts[np.maximum(position, 0)] if len(hosts) else np.zeros(len(calls), np.int64)
    has_owner = (position >= 0) & (slices["track"][owner] == slices["track"][calls])
    least = np.where(has_owner, slices["start_ns"][owner], slices["start_ns"][calls])
    moved = np.maximum(slices["start_ns"][calls], least)
    slices["start_ns"][calls] = np.minimum(moved, most[of_calls])


def _ordered(earliest: Int64, latest: Int64, duration: Int64) -> Int64:
    """The least starts of the slices of one thread that order its levels."""
    goes_back = latest[1:] < earliest[:-1]
    surely_inside = latest[1:] < earliest[:-1] + duration[:-1]
    first = np.flatnonzero(np.append(True, goes_back | surely_inside))
    if len(first) > MAX_LEVELS:
        return earliest
    levels = [slice(*each) for each in pairwise((*first.tolist(), len(earliest)))]
    middle = (earliest + latest) // 2
    around = [
        np.maximum(
            np.searchsorted(middle[outer], middle[inner] + duration[inner] // 2, "right") - 1, 0
        )
        for outer, inner in pairwise(levels)
    ]
    start: Int64 = earliest.copy()
    for _ in range(MAX_ROUNDS):
        before = start.copy()
        for (outer, inner), parent in zip(pairwise(levels), around, strict=True):
            np.maximum(start[inner], start[outer][parent], out=start[inner])
        for level in levels:
            taken = np.cumsum(duration[level]) - duration[level]
            start[level] = taken + np.maximum.accumulate(start[level] - taken)
        for (outer, inner), parent in reversed([*zip(pairwise(levels), around, strict=True)]):
            end = start[inner] + duration[inner]
            least = start[outer]
            np.maximum.at(least, parent, end - duration[outer][parent])
        np.minimum(start, latest, out=start)
        if np.array_equal(start, before):
            break
    return start
