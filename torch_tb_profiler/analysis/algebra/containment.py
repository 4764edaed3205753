"""Which of some host slices another one begins in."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def innermost_around_start(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` on its track that its start lies in, else -1.

    In time only: a slice that sticks out of a candidate, and a launch whose owner is an operator
    further out, have one too. ``slice_id`` may hold -1.
    """
    if not len(candidates):
        return np.full(len(slice_id), -1, np.int64)
    track = trace.slices["track"].to_numpy()
    start_ns = trace.slices["start_ns"].to_numpy()
    inner = np.sort(candidates)
    ends_ns = start_ns[inner] + trace.slices["dur_ns"].to_numpy()[inner]
    # Ids are in order of track, start, longer first: what surrounds a slice stands before it.
    preceding = np.searchsorted(inner, slice_id, "right")
    nearest = gather(inner, last_above(ends_ns, preceding, start_ns[slice_id]))
    return np.where(track[nearest] == track[slice_id], nearest, -1)


def last_above(values: Int64, stop: Int64, threshold: Int64) -> Int64:
    """Per query the last place before ``stop`` whose value is above ``threshold``, else -1.

    By the largest values of ever longer blocks: each query looks at about 2 log2(n) of them.
    """
    largest = [values]
    while len(largest[-1]) > 1:
        blocks = largest[-1]
        pairs = np.append(blocks, blocks[-1:]) if len(blocks) % 2 else blocks
        largest.append(pairs.reshape(-1, 2).max(axis=1))
    stop = stop.copy()
    level = np.full(len(stop), -1, np.int64)
    block = np.full(len(stop), -1, np.int64)
    for size, of_blocks in enumerate(largest):
        asking = np.flatnonzero((level < 0) & ((stop >> size) & 1 == 1))
        before = (stop[asking] >> size) - 1
        holds = of_blocks[before] > threshold[asking]
        level[asking[holds]], block[asking[holds]] = size, before[holds]
        stop[asking] -= 1 << size
    for size in range(len(largest) - 1, 0, -1):
        inside = np.flatnonzero(level >= size)
        halves = largest[size - 1]
        later = np.minimum(2 * block[inside] + 1, len(halves) - 1)
        block[inside] = np.where(halves[later] > threshold[inside], later, 2 * block[inside])
    return block


def innermost_around(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` among itself and the nodes around it, else -1;
    ``slice_id`` may hold -1."""
    if not len(candidates):
        return np.full(len(slice_id), -1, np.int64)
    marked = np.zeros(trace.slices.height, np.bool_)
    marked[candidates] = True
    nearest = nearest_marked(indices(trace.slices["parent"]), marked)
    return gather(nearest, slice_id)
