"""Positions of values in sorted arrays, and dense ids for pairs of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.blocks import blocks
from torch_tb_profiler.trace.columns import Int64

_Integers = npt.NDArray[np.integer]


MAX_SEARCHED = 1 << 14
"""Up to this number of values a search is as fast as a table."""

SPARSE_TABLE = 4
"""A table of positions has at most this number of entries per value."""

MAX_NARROW_KEYS = 1 << 20
"""Pairs of values within this range get their ids from a table instead of by sorting."""


def positions_in(sorted_values: Int64, values: Int64) -> Int64:
    """Per value its position in ``sorted_values``, ascending and distinct; -1 if it is missing."""
    if len(sorted_values) == 0:
        return np.full(len(values), -1, np.int64)
    low, high = int(sorted_values[0]), int(sorted_values[-1])
    if len(values) > MAX_SEARCHED and high - low < SPARSE_TABLE * len(sorted_values):
        return _positions_by_table(sorted_values, values)
    position = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return np.where(sorted_values[position] == values, position, -1)


def _positions_by_table(sorted_values: Int64, values: Int64) -> Int64:
    low, high = sorted_values[0], sorted_values[-1]
    table = np.full(int(high - low) + 2, -1, np.int32)
    table[sorted_values - low] = np.arange(len(sorted_values), dtype=np.int32)
    positions = np.empty(len(values), np.int64)
    for rows in blocks(len(values)):
        offset = values[rows] - low
        offset[(values[rows] < low) | (values[rows] > high)] = len(table) - 1
        positions[rows] = table[offset]
    return positions


def dense_pair_ids(left: _Integers, right: _Integers) -> tuple[Int64, Int64]:
    """Position of one example of each distinct pair (left, right), in their order, and per position
    the dense id of its pair."""
    narrow = _narrow_keys(left, right)
    if narrow is not None:
        example = np.full(int(narrow.max(initial=-1)) + 1, -1)
        example[narrow[::-1]] = np.arange(len(narrow))[::-1]
        is_known = example >= 0
        return example[is_known], (np.cumsum(is_known) - 1)[narrow]
    order = np.lexsort((right, left))
    changes = np.ones(len(order), np.bool_)
    changes[1:] = (np.diff(left[order]) != 0) | (np.diff(right[order]) != 0)
    dense_id = np.empty(len(order), np.int64)
    dense_id[order] = np.cumsum(changes) - 1
    return order[changes], dense_id


def _narrow_keys(left: _Integers, right: _Integers) -> Int64 | None:
    """A small number per pair, in the order of the pairs; None if they are far apart."""
    if not len(left):
        return None
    lows, highs = [], []
    for values in (left, right):
        lows.append(int(values.min()))
        highs.append(int(values.max()))
    width = highs[1] - lows[1] + 1
    if (highs[0] - lows[0] + 1) * width > MAX_NARROW_KEYS:
        return None
    keys: Int64 = (left.astype(np.int64) - lows[0]) * width + (right.astype(np.int64) - lows[1])
    return keys
