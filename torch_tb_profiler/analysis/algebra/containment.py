"""Containment of host slices: the innermost of some slices around another one."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def innermost_around_start(trace: Trace, candidates: Int64, slice_id: Int64) -> Int64:
    """Per slice the innermost of ``candidates`` on its track that contains its start, else -1.

    By time alone: a slice that ends after the candidate counts, and so does a launch whose owner is
    an operator further out. ``slice_id`` may hold -1.
    """
    if not len(candidates):
        return np.full(len(slice_id), -1, np.int64)
    track = trace.slices["track"].to_numpy()
    start_ns = trace.slices["start_ns"].to_numpy()
    inner = np.sort(candidates)
    ends_ns = start_ns[inner] + trace.slices["dur_ns"].to_numpy()[inner]
    # Ids are in order of track, start, longer first: what surrounds a slice comes before it.
    preceding = np.searchsorted(inner, slice_id, "right")
    nearest = gather(inner, last_above(ends_ns, preceding, start_ns[slice_id]))
    return np.where(track[nearest] == track[slice_id], nearest, -1)


def last_above(values: Int64, stop: Int64, threshold: Int64) -> Int64:
    """Per query the last index before ``stop`` whose value is above ``threshold``, else -1.

    Uses maxima of blocks of doubling length, about 2 log2(n) of them per query.
    """
    largest = [values]
    while len(largest[-1]) > 1:
        blocks = largest[-1]
        pairs = np.append(blocks, blocks[-1:]) if len(blocks) % 2 else blocks
        largest.append(pairs.reshape(-1, 2).max(axis=1))
    stop = stop.copy()
    level = np.full(len(stop), -1, np.int64)
    block = np.full(len(stop), -1, np.int64)
    for size, maxima in enumerate(largest):
        open_queries = np.flatnonzero((level < 0) & ((stop >> size) & 1 == 1))
        before = (stop[open_queries] >> size) - 1
        holds = maxima[before] > threshold[open_queries]
        level[open_queries[holds]], block[open_queries[holds]] = size, before[holds]
        stop[open_queries] -= 1 << size
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
