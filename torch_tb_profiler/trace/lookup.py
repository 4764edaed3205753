"""Places of values in sorted arrays, and numbers for pairs of values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

_Integers = npt.NDArray[np.integer]


def place_in(known: Int64, wanted: Int64) -> Int64:
    """Per wanted value its place in ``known``, ascending and distinct; -1 where it is not there."""
    if len(known) == 0:
        return np.full(len(wanted), -1, np.int64)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[place] == wanted, place, -1)


def number_pairs(left: _Integers, right: _Integers) -> tuple[Int64, Int64]:
    """Position of one example of each distinct pair (left, right), in their order, and per
    position the number of its pair there."""
    order = np.lexsort((right, left))
    changes = np.ones(len(order), np.bool_)
    changes[1:] = (np.diff(left[order]) != 0) | (np.diff(right[order]) != 0)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(changes) - 1
    return order[changes], number
