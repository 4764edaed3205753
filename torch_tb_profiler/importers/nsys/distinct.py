"""Distinct values of long columns with few distinct values."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.blocks import blocks
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant

MAX_SORTED = 2048
"""Up to this number of values are sorted, which has the least fixed cost."""

MAX_TABLE_SIZE = 1 << 20
"""Up to this range of values a lookup table is used."""


def distinct(values: Int64) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and per value its position among them. Uses a lookup or hash
    table, which is much faster than sorting."""
    if is_constant(values):
        return values[:1].copy(), constant(0, len(values), np.int64)
    if len(values) <= MAX_SORTED:
        known, inverse = np.unique(values, return_inverse=True)
        return known, inverse.reshape(-1)
    low, high = int(values.min()), int(values.max())
    if low == high:
        return np.array([low]), constant(0, len(values), np.int64)
    if high - low < MAX_TABLE_SIZE:
        return _distinct_in_range(values, low, high)
    known = pl.Series(values).unique().sort().to_numpy()
    return known, np.searchsorted(known, values)


def _distinct_in_range(values: Int64, low: int, high: int) -> tuple[Int64, Int64]:
    is_known = np.zeros(high - low + 1, np.bool_)
    for rows in blocks(len(values)):
        is_known[values[rows] - low] = True
    number = np.cumsum(is_known) - 1
    numbers = np.empty(len(values), np.int64)
    for rows in blocks(len(values)):
        number.take(values[rows] - low, out=numbers[rows], mode="clip")
    return np.flatnonzero(is_known) + low, numbers


def distinct_rows(*columns: Int64) -> tuple[list[Int64], Int64]:
    """The distinct rows of columns of equal length, column by column, and per row its position
    among them."""
    values, number = distinct(columns[0])
    rows = [values]
    for column in columns[1:]:
        values, inverse = distinct(column)
        if len(values) == 1:
            rows.append(np.repeat(values, len(rows[0])))
            continue
        if len(rows[0]) == 1:
            rows = [*(np.repeat(each, len(values)) for each in rows), values]
            number = inverse
            continue
        joint, number = distinct(number * max(len(values), 1) + inverse)
        rows = [each[joint // max(len(values), 1)] for each in rows]
        rows.append(values[joint % max(len(values), 1)])
    return rows, number
