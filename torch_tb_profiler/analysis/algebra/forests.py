"""Walks over forests given as parent arrays, vectorised.

A forest is an int64 array: ``parent[i]`` is the index of the element around element ``i``,
-1 for a root. No function recurses, so depth costs time and never a crash.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.trace.columns import Bools, Int64


def indices(column: pl.Series) -> Int64:
    """A column of row numbers or codes as int64 numpy, null as -1."""
    numbers = column.cast(pl.Int64)
    if numbers.null_count():
        numbers = numbers.set(numbers.is_null(), -1)
    values: Int64 = numbers.to_numpy()
    return values


def indices_at(column: pl.Series, at: Int64) -> Int64:
    """``gather(indices(column), at)`` without a copy of the whole column."""
    if not len(column):
        return np.full(len(at), -1, np.int64)
    return np.where(at >= 0, indices(column.gather(np.maximum(at, 0))), -1)


def gather(values: Int64, at: Int64) -> Int64:
    """``values[at]``, with -1 where ``at`` is -1."""
    if not len(values):
        return np.full(len(at), -1, np.int64)
    return np.where(at >= 0, values[at], -1)


def nearest_marked(parent: Int64, marked: Bools) -> Int64:
    """For each element the nearest marked one among itself and those around it, else -1.

    Pointers that are not there yet jump over one another, so it takes about log2(depth) rounds.
    """
    count = len(parent)
    jump = np.append(np.where(marked, np.arange(count), parent), -1)
    unfinished = np.flatnonzero((jump[:-1] >= 0) & ~marked)
    while unfinished.size:
        jump[unfinished] = jump[jump[unfinished]]
        target = jump[unfinished]
        unfinished = unfinished[(target >= 0) & ~marked[target]]
    return jump[:-1]


def with_ancestors(elements: Int64, parent: Int64) -> Int64:
    """``elements`` and everything around them, ascending."""
    seen = np.zeros(len(parent), np.bool_)
    current = elements
    while current.size:
        seen[current] = True
        above = parent[current]
        above = above[above >= 0]
        current = distinct_values(above[~seen[above]])
    return np.flatnonzero(seen)


def levels(parent: Int64) -> list[Int64]:
    """The elements by depth: roots first. Every element is in exactly one level."""
    below = np.argsort(parent, kind="stable")
    bounds = np.searchsorted(parent[below], np.arange(-1, len(parent) + 1))
    by_depth: list[Int64] = []
    current = below[: bounds[1]]
    while current.size:
        by_depth.append(current)
        first, last = bounds[current + 1], bounds[current + 2]
        counts = last - first
        offsets = np.repeat(first - np.cumsum(counts) + counts, counts)
        current = below[np.arange(len(offsets)) + offsets]
    return by_depth


def with_descendants(values: Int64, parent: Int64) -> Int64:
    """Per element, the sum of ``values`` of itself and all elements below it."""
    totals = values.astype(np.int64, copy=True)
    for level in reversed(levels(parent)[1:]):
        np.add.at(totals, parent[level], totals[level])
    return totals
