"""Few distinct values of many rows as numbers from 0."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64

_ROOM = 8
"""Numbers up to so many times the rows are counted in place, greater ones are sorted."""


def numbered(values: Int64) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and for each row the place of its value among them.

    Args:
        values: None is negative.
    """
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if int(values.max()) > _ROOM * len(values):
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place
    distinct = np.flatnonzero(np.bincount(values))
    number = np.empty(int(distinct[-1]) + 1, np.int64)
    number[distinct] = np.arange(len(distinct))
    return distinct, number[values]


def in_groups(numbers: Int64) -> Int64:
    """The order in which rows of equal numbers follow each other, each group in its own order."""
    is_small = len(numbers) > 0 and int(numbers.max()) < 1 << 16  # short numbers sort fast
    return np.argsort(numbers.astype(np.uint16) if is_small else numbers, kind="stable")
