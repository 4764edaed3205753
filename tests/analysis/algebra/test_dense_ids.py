"""Dense ids against numpy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.algebra.dense_ids import factorize, order_by_id


@pytest.mark.parametrize("most", [3, 10_000, 10**15])
def test_ids_are_indices_among_the_distinct_values(most: int) -> None:
    values = np.random.default_rng(5).integers(0, most, 500)
    distinct, ids = factorize(values)
    assert distinct.tolist() == sorted(set(values.tolist()))
    assert distinct[ids].tolist() == values.tolist()


def test_no_rows_have_no_ids() -> None:
    assert [each.tolist() for each in factorize(np.empty(0, np.int64))] == [[], []]
    assert order_by_id(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("first", [0, 10**9])
def test_rows_of_one_id_stay_in_order(first: int) -> None:
    assert order_by_id(np.array([2, 0, 2, 1, 0]) + first).tolist() == [1, 4, 3, 0, 2]
