"""Dense ids: the few distinct values of many rows, factorized to 0 … n - 1."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64

_COUNTED_TIMES = 8
"""Values up to so many times the number of rows are counted in an array, larger ones are sorted."""


def factorize(values: Int64) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and for each row its dense id: the index of its value among
    them.

    Args:
        values: None is negative.
    """
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if int(values.max()) > _COUNTED_TIMES * len(values):
        distinct, ids = np.unique(values, return_inverse=True)
        return distinct, ids
    distinct = np.flatnonzero(np.bincount(values))
    id_of_value = np.empty(int(distinct[-1]) + 1, np.int64)
    id_of_value[distinct] = np.arange(len(distinct))
    return distinct, id_of_value[values]


def order_by_id(ids: Int64) -> Int64:
    """The stable order that brings rows of equal ids together, smallest id first."""
    is_small = len(ids) > 0 and int(ids.max()) < 1 << 16  # short integers sort fast
    return np.argsort(ids.astype(np.uint16) if is_small else ids, kind="stable")
