"""The distinct values of long columns that hold few of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64

FEW = 2048
"""So many values are sorted: nothing else begins as fast."""

WIDEST = 1 << 20
"""Values that are no further apart are looked up in a table of what lies between them."""


def distinct(values: Int64) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and per value its place among them: by a table or a hash
    table, which is far faster than sorting a column of few distinct values."""
    if len(values) <= FEW:
        known, place = np.unique(values, return_inverse=True)
        return known, place.reshape(-1)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return np.array([low]), np.zeros(len(values), np.int64)
    if high - low < WIDEST:
        offset = values - low
        is_known = np.zeros(high - low + 1, np.bool_)
        is_known[offset] = True
        return np.flatnonzero(is_known) + low, (np.cumsum(is_known) - 1)[offset]
    known = pl.Series(values).unique().sort().to_numpy()
    return known, np.searchsorted(known, values)


def distinct_rows(*columns: Int64) -> tuple[list[Int64], Int64]:
    """The distinct rows of equally long columns, column by column, and per row its place among
    them."""
    values, number = distinct(columns[0])
    rows = [values]
    for column in columns[1:]:
        values, place = distinct(column)
        if len(values) == 1:
            rows.append(np.repeat(values, len(rows[0])))
            continue
        joint, number = distinct(number * max(len(values), 1) + place)
        rows = [each[joint // max(len(values), 1)] for each in rows]
        rows.append(values[joint % max(len(values), 1)])
    return rows, number
