"""The distinct values of long columns that hold few of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64


def distinct(values: Int64) -> tuple[Int64, Int64]:
    """The distinct values, ascending, and per value its place among them: by a hash table, which
    is far faster than sorting a column of few distinct values."""
    known = pl.Series(values).unique().sort().to_numpy()
    return known, np.searchsorted(known, values)


def distinct_rows(*columns: Int64) -> tuple[list[Int64], Int64]:
    """The distinct rows of equally long columns, column by column, and per row its place among
    them."""
    values, number = distinct(columns[0])
    rows = [values]
    for column in columns[1:]:
        values, place = distinct(column)
        joint, number = distinct(number * max(len(values), 1) + place)
        rows = [each[joint // max(len(values), 1)] for each in rows]
        rows.append(values[joint % max(len(values), 1)])
    return rows, number
