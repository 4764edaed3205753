"""Python code that operators call: hooks on saved tensors, functions with a Python backward.

Definitions: ``docs/metrics.md#operators``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_lengths
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_CLIMBS = 1000
"""Levels of nesting that are looked through; only damaged or hostile files nest deeper."""


@per_trace
def python_inside(trace: Trace) -> Int64:
    """Per slice, in ns, what python frames directly inside a node cover of it outside the nodes and
    calls in it; 0 for what is no node. What an absorbed operator has is its absorber's."""
    count = trace.slices.height
    frames, inside = _outermost_frames(trace)
    if not len(frames):
        return np.zeros(count, np.int64)
    parent = indices(trace.slices["parent"])
    holds_frames = np.zeros(count, np.bool_)
    holds_frames[inside] = True
    is_part = _of(trace, (*NODE_CATEGORIES, Category.RUNTIME))
    parts = np.flatnonzero(np.append(holds_frames, False)[parent])
    parts = parts[is_part[parts]]
    without = _covered(trace, parts, parent[parts])
    with_frames = _covered(
        trace, np.concatenate((parts, frames)), np.concatenate((parent[parts], inside))
    )
    python = with_frames - without
    absorber = indices(trace.slices["absorbed_into"])
    doubles = np.flatnonzero((absorber >= 0) & (python > 0))
    np.add.at(python, absorber[doubles], python[doubles])
    python[doubles] = 0
    return python


def _outermost_frames(trace: Trace) -> tuple[Int64, Int64]:
    """Frames that started inside a node that the frame around them is not inside, and that node,
    the innermost around them."""
    slices = trace.slices
    is_node = _of(trace, NODE_CATEGORIES)
    nodes, frames = np.flatnonzero(is_node), np.flatnonzero(_of(trace, PYTHON_CATEGORIES))
    if not len(nodes) or not len(frames):
        return frames[:0], frames[:0]
    parent, track = indices(slices["parent"]), slices["track"].to_numpy()
    start_ns = slices["start_ns"].to_numpy()
    end_ns = start_ns + slices["dur_ns"].to_numpy()
    # Ids are in order of track, start, longer first: the last node before a frame, or one around
    # that, is around the frame.
    inner = gather(nodes, np.cumsum(is_node)[frames] - 1)
    inner = np.where(track[inner] == track[frames], inner, -1)
    climbing = np.arange(len(frames))
    for _ in range(MAX_CLIMBS):
        around = inner[climbing]
        is_over = (around >= 0) & (end_ns[around] <= start_ns[frames[climbing]])
        climbing = climbing[is_over]
        if not len(climbing):
            break
        inner[climbing] = parent[inner[climbing]]
    node_of = np.full(slices.height, -1, np.int64)
    node_of[frames] = inner
    outermost = (inner >= 0) & (gather(node_of, parent[frames]) != inner)
    return frames[outermost], inner[outermost]


def _of(trace: Trace, categories: tuple[Category, ...]) -> Bools:
    """Mask of the slices of these categories."""
    wanted = np.zeros(len(Category), np.bool_)
    wanted[list(categories)] = True
    mask: Bools = wanted[trace.slices["category"].to_numpy()]
    return mask


def _covered(trace: Trace, parts: Int64, wholes: Int64) -> Int64:
    """Per slice how much of it ``parts``, cut at its end, cover."""
    start_ns = trace.slices["start_ns"].to_numpy()
    end_ns = start_ns + trace.slices["dur_ns"].to_numpy()
    groups, group = factorize(wholes)
    covered = np.zeros(len(start_ns), np.int64)
    covered[groups] = union_lengths(
        group,
        np.maximum(start_ns[parts], start_ns[wholes]),
        np.minimum(end_ns[parts], end_ns[wholes]),
        len(groups),
    )
    return covered
