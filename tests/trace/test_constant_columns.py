"""Columns of one value behave as columns, and take no memory."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.constant_columns import (
    concatenate,
    constant,
    is_constant,
    neighbours,
    rows_at,
)
from torch_tb_profiler.trace.nulls import to_frame


def test_rows_of_constants_are_constant() -> None:
    column = constant(7, 5, np.int64)
    assert is_constant(rows_at(column, np.array([4, 0])))
    assert rows_at(column, np.array([4, 0])).tolist() == [7, 7]
    assert rows_at(np.arange(5), np.array([4, 0])).tolist() == [4, 0]
    assert not is_constant(np.zeros(0, np.int64))


def test_constants_stay_so_when_they_are_joined() -> None:
    absent = constant(np.nan, 2, np.float64)
    none = np.empty(0)
    assert is_constant(concatenate([absent, none, absent], np.float64))
    assert len(concatenate([absent, none, absent], np.float64)) == 4
    both = concatenate([constant(1, 2, np.int32), constant(2, 1, np.int32)], np.int32)
    assert both.tolist() == [1, 1, 2]
    assert both.dtype == np.dtype(np.int32)
    assert concatenate([np.array([3]), constant(3, 1, np.int64)], np.int64).tolist() == [3, 3]
    assert concatenate([], np.int8).tolist() == []


def test_constants_and_absent_columns_of_frames() -> None:
    columns = {
        "absent": constant(ABSENT, 2, np.int64),
        "same": constant(3, 2, np.int64),
        "none": constant(np.nan, 2, np.float64),
        "all": np.full(2, -1, np.int32),
    }
    schema = {"absent": pl.Int64, "same": pl.Int32, "none": pl.Float64, "all": pl.Int32}
    frame = to_frame(dict(columns), schema, {"absent": int(ABSENT), "same": -1, "all": -1})
    assert frame.schema == pl.Schema(schema)
    assert frame.rows() == [(None, 3, None, None)] * 2
    assert frame["all"].null_count() == 2


def test_neighbouring_rows_share_the_memory_of_their_column() -> None:
    column = np.arange(10) * 3
    shared = rows_at(column, neighbours(np.array([4, 5, 6])))
    assert shared.tolist() == [12, 15, 18]
    assert np.shares_memory(shared, column)
    assert rows_at(constant(7, 9, np.int64), neighbours(np.array([4, 5]))).tolist() == [7, 7]
    for rows in ([], [4, 6, 5], [4, 4, 6], [-1, 0], [2, 4]):
        others = np.array(rows, np.int64)
        assert neighbours(others) is others


def test_masked_rows_are_null_whatever_they_hold() -> None:
    columns = {"masked": np.array([5, 6, 7]), "all": np.zeros(3, np.int64)}
    absent = {"masked": np.array([False, True, False]), "all": np.ones(3, np.bool_)}
    frame = to_frame(columns, {"masked": pl.Int64, "all": pl.Int64}, absent)
    assert frame.rows() == [(5, None), (None, None), (7, None)]
