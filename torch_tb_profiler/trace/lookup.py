"""Places of values in sorted arrays, and numbers for pairs of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

_Integers = npt.NDArray[np.integer]


def positions_in(known: Int64, wanted: Int64) -> Int64:
    """Per wanted value its place in ``known``, ascending and distinct; -1 where it is not there."""
    if len(known) == 0:
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


NARROW = 1 << 20
"""Pairs of values so close to each other are numbered by a table instead of by sorting."""


def dense_pair_ids(left: _Integers, right: _Integers) -> tuple[Int64, Int64]:
    """Position of one example of each distinct pair (left, right), in their order, and per
    position the number of its pair there."""
    narrow = _narrow_keys(left, right)
    if narrow is not None:
        example = np.full(int(narrow.max(initial=-1)) + 1, -1)
        example[narrow[::-1]] = np.arange(len(narrow))[::-1]
        is_known = example >= 0
        return example[is_known], (np.cumsum(is_known) - 1)[narrow]
    order = np.lexsort((right, left))
    changes = np.ones(len(order), np.bool_)
    changes[1:] = (np.diff(left[order]) != 0) | (np.diff(right[order]) != 0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(changes) - 1
    return order[changes], number


def _narrow_keys(left: _Integers, right: _Integers) -> Int64 | None:
    """A small number per pair, in the order of the pairs; None where they are far apart."""
    if not len(left):
        return None
    lows, highs = [], []
    for values in (left, right):
        lows.append(int(values.min()))
        highs.append(int(values.max()))
    width = highs[1] - lows[1] + 1
    if (highs[0] - lows[0] + 1) * width > NARROW:
        return None
    keys: Int64 = (left.astype(np.int64) - lows[0]) * width + (right.astype(np.int64) - lows[1])
    return keys
