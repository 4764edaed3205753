"""Dense ids: the few distinct values of many rows, factorized to 0 … n - 1."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64

_COUNTED_TIMES = 8
"""Values up to so many times the number of rows are counted in an array, larger ones are sorted."""
_MOST = 1 << 62
"""Numbers of combinations stay below this."""


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


def factorize_rows(*columns: Int64) -> tuple[Int64, Int64]:
    """The first row of each distinct combination of values, in ascending order of the columns, and
    for each row the id of its combination.

    Args:
        columns: Aligned columns, at least one.
    """
    count = len(columns[0])
    ids, kinds = np.zeros(count, np.int64), 1
    for column in columns:
        distinct, inverse = _factorize_any(column)
        ids = ids * max(len(distinct), 1) + inverse
        kinds *= max(len(distinct), 1)
        if kinds * (count + 1) >= _MOST or kinds > count:
            present, ids = factorize(ids)
            kinds = max(len(present), 1)
    present, ids = factorize(ids)
    first = np.zeros(len(present), np.int64)
    first[ids[::-1]] = np.arange(count)[::-1]
    return first, ids


def _factorize_any(values: Int64) -> tuple[Int64, Int64]:
    """As :func:`factorize`, of any values; those that start at -1 (codes, rows) are counted."""
    if len(values) and int(values.min()) < -1:
        distinct, ids = np.unique(values, return_inverse=True)
        return distinct, ids
    distinct, ids = factorize(values + 1)
    return distinct - 1, ids


def order_by_id(ids: Int64) -> Int64:
    """The stable order that brings rows of equal ids together, smallest id first."""
    is_small = len(ids) > 0 and int(ids.max()) < 1 << 16  # short integers sort fast
    return np.argsort(ids.astype(np.uint16) if is_small else ids, kind="stable")
