"""Which of some host slices another one begins in."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.forests import gather, indices, nearest_marked
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def innermost_around_start(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` on its track that its start lies in, else -1.

    In time only: a slice that sticks out of a candidate, and a launch whose owner is an operator
    further out, are found too. ``slice_id`` may hold -1.
    """
    found = np.full(len(slice_id), -1, np.int64)
    if not len(candidates) or not trace.slices.height:
        return found
    track = trace.slices["track"].to_numpy()
    start_ns = trace.slices["start_ns"].to_numpy()
    inner = np.sort(candidates)
    ends = start_ns[inner] + trace.slices["dur_ns"].to_numpy()[inner]
    reach = _running_maximum(ends, track[inner])
    # Ids are in order of track, start, longer first: what surrounds a slice stands before it.
    at = np.searchsorted(inner, slice_id, "right") - 1
    rows = np.flatnonzero((slice_id >= 0) & (at >= 0))
    while rows.size:
        near = at[rows]
        slices = slice_id[rows]
        possible = (track[inner[near]] == track[slices]) & (reach[near] > start_ns[slices])
        around = possible & (ends[near] > start_ns[slices])
        found[rows[around]] = inner[near[around]]
        rows = rows[possible & ~around & (near > 0)]
        at[rows] -= 1
    return found


def _running_maximum(values: Int64, group: Int64) -> Int64:
    """Largest value so far within each run of equal groups."""
    largest: Int64 = values.copy()
    bounds = np.flatnonzero(np.diff(group)) + 1
    for part in np.split(largest, bounds):
        np.maximum.accumulate(part, out=part)
    return largest


def innermost_around(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` among itself and the nodes around it, else -1;
    ``slice_id`` may hold -1."""
    if not len(candidates):
        return np.full(len(slice_id), -1, np.int64)
    marked = np.zeros(trace.slices.height, np.bool_)
    marked[candidates] = True
    nearest = nearest_marked(indices(trace.slices["parent"]), marked)
    return gather(nearest, slice_id)
