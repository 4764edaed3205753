"""Distinct values equal those that sorting finds, in short and long columns, near and far apart."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.importers.nsys.distinct import distinct, distinct_rows
from torch_tb_profiler.trace.blocks import BLOCK_ROWS
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.constant_columns import constant

SIZES = (1, 5, 2049, BLOCK_ROWS + 1, 2 * BLOCK_ROWS)
KINDS = ("constant", "same", "near", "far", "negative")


def _column(kind: str, size: int) -> Int64:
    random = np.random.default_rng(size)
    if kind == "constant":
        return constant(-4, size, np.int64)
    if kind == "same":
        return np.full(size, 9)
    if kind == "far":
        return random.integers(0, 50, size) << 40
    return random.integers(-3 if kind == "negative" else 10**9, 10**9 + 700, size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_their_numbers(kind: str, size: int) -> None:
    values = _column(kind, size)
    known, number = distinct(values)
    expected, expected_number = np.unique(values, return_inverse=True)
    assert known.tolist() == expected.tolist()
    assert np.array_equal(number, expected_number)


@pytest.mark.parametrize("size", [3, 3000])
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_rows_of_several_columns(first: str, second: str, size: int) -> None:
    columns = _column(first, size), _column(second, size), _column("near", size) % 3
    known, number = distinct_rows(*columns)
    rows = np.stack(columns, axis=1)
    expected, expected_number = np.unique(rows, axis=0, return_inverse=True)
    assert np.array_equal(np.stack(known, axis=1), expected)
    assert np.array_equal(number, expected_number.reshape(-1))
