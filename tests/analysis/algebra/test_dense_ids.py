"""Dense ids against numpy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.algebra.dense_ids import (
    distinct_values,
    factorize,
    factorize_rows,
    order_by_id,
    rows_of_values,
)


@pytest.mark.parametrize("most", [3, 10_000, 10**15])
def test_ids_are_indices_among_the_distinct_values(most: int) -> None:
    values = np.random.default_rng(5).integers(0, most, 500)
    distinct, ids = factorize(values)
    assert distinct.tolist() == sorted(set(values.tolist()))
    assert distinct[ids].tolist() == values.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64])
@pytest.mark.parametrize("span", ["narrow", "wide"])
def test_distinct_values_are_those_of_numpy(dtype: type[np.signedinteger], span: str) -> None:
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if span == "wide" else (max(limits.min, -5), 90)
    values = np.random.default_rng(3).integers(low, high, 300, dtype=dtype)
    values[:2] = low, high
    expected, ids = np.unique(values, return_inverse=True)
    assert distinct_values(values).tolist() == expected.tolist()
    assert [each.tolist() for each in factorize(values)] == [expected.tolist(), ids.tolist()]


def test_no_rows_have_no_ids() -> None:
    assert distinct_values(np.empty(0, np.int32)).tolist() == []
    assert [each.tolist() for each in factorize(np.empty(0, np.int64))] == [[], []]
    assert order_by_id(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("first", [0, 10**9])
def test_rows_of_one_id_stay_in_order(first: int) -> None:
    assert order_by_id(np.array([2, 0, 2, 1, 0]) + first).tolist() == [1, 4, 3, 0, 2]


@pytest.mark.parametrize("lowest", [-1, 0, -(2**63)])
def test_rows_are_factorized_as_numpy_sorts_them(lowest: int) -> None:
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, most, 800) for most in (3, 40, 10**12)]
    columns[1][rng.random(800) < 0.2] = lowest
    columns[2] = columns[2][rng.integers(0, 30, 800)]
    _, first, ids = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    own_first, own_ids = factorize_rows(*columns)
    assert own_first.tolist() == first.tolist()
    assert own_ids.tolist() == ids.reshape(-1).tolist()


def test_no_rows_are_factorized_to_none() -> None:
    none = np.empty(0, np.int64)
    assert [each.tolist() for each in factorize_rows(none, none)] == [[], []]


@pytest.mark.parametrize("values", [[], [3], [7, -1, 7, 2**62, -1, 0]])
def test_rows_of_values_are_those_of_each(values: list[int]) -> None:
    array = np.array(values, np.int64)
    rows = {value: own.tolist() for value, own in rows_of_values(array).items()}
    assert rows == {value: np.flatnonzero(array == value).tolist() for value in set(values)}
    assert list(rows) == sorted(rows)
