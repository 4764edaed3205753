"""Dense ids: the few distinct values of many rows, factorized to 0 … n - 1."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

Integer = TypeVar("Integer", bound=np.integer[Any])

_COUNTED_TIMES = 8
"""Values up to so many times the number of rows are counted in an array, larger ones are sorted."""
_MOST = 1 << 62
"""Numbers of combinations stay below this."""


def distinct_values(values: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """The distinct integers of an array, ascending: as ``np.unique``, which since numpy 2.3 takes
    twenty times as long for them."""
    if not len(values):
        return values
    low = int(values.min())
    if int(values.max()) - low <= _COUNTED_TIMES * len(values):
        present = np.flatnonzero(np.bincount(np.subtract(values, low, dtype=np.int64)))
        return (present + low).astype(values.dtype, copy=False)
    ordered = np.sort(values)
    distinct: npt.NDArray[Integer] = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return distinct


def factorize(values: npt.NDArray[Integer]) -> tuple[npt.NDArray[Integer], Int64]:
    """The distinct integers of an array, ascending, and for each row its dense id: the index of
    its value among them."""
    if not len(values):
        return values, np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return values[:1].copy(), np.zeros(len(values), np.int64)
    if high - low > _COUNTED_TIMES * len(values):
        distinct, ids = np.unique(values, return_inverse=True)
        return distinct, ids
    offsets = np.subtract(values, low, dtype=np.int64)
    present = np.flatnonzero(np.bincount(offsets))
    id_of_value = np.empty(int(present[-1]) + 1, np.int64)
    id_of_value[present] = np.arange(len(present))
    return (present + low).astype(values.dtype, copy=False), id_of_value[offsets]


def rows_of_values(values: npt.NDArray[Integer]) -> dict[int, Int64]:
    """For each distinct integer of an array, ascending, the rows that have it, ascending; in one
    sort, however many there are."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return dict(zip(ordered[first].tolist(), np.split(order, first)[1:], strict=True))


def factorize_rows(*columns: Int64) -> tuple[Int64, Int64]:
    """The first row of each distinct combination of values, in ascending order of the columns, and
    for each row the id of its combination.

    Args:
        columns: Aligned columns, at least one.
    """
    count = len(columns[0])
    ids, kinds = np.zeros(count, np.int64), 1
    for column in columns:
        distinct, inverse = factorize(column)
        ids = ids * max(len(distinct), 1) + inverse
        kinds *= max(len(distinct), 1)
        if kinds * (count + 1) >= _MOST or kinds > count:
            present, ids = factorize(ids)
            kinds = max(len(present), 1)
    present, ids = factorize(ids)
    first = np.zeros(len(present), np.int64)
    first[ids[::-1]] = np.arange(count)[::-1]
    return first, ids


def order_by_id(ids: Int64) -> Int64:
    """The stable order that brings rows of equal ids together, smallest id first."""
    is_small = len(ids) > 0 and int(ids.max()) < 1 << 16  # short integers sort fast
    return np.argsort(ids.astype(np.uint16) if is_small else ids, kind="stable")
