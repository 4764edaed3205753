"""Numbers of distinct values, against those of numpy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.algebra.dense_ids import in_groups, numbered


@pytest.mark.parametrize("most", [3, 10_000, 10**15])
def test_numbers_are_places_among_the_distinct(most: int) -> None:
    values = np.random.default_rng(5).integers(0, most, 500)
    distinct, place = numbered(values)
    assert distinct.tolist() == sorted(set(values.tolist()))
    assert distinct[place].tolist() == values.tolist()


def test_no_row_has_no_number() -> None:
    assert [each.tolist() for each in numbered(np.empty(0, np.int64))] == [[], []]
    assert in_groups(np.empty(0, np.int64)).tolist() == []


@pytest.mark.parametrize("first", [0, 10**9])
def test_groups_keep_their_own_order(first: int) -> None:
    assert in_groups(np.array([2, 0, 2, 1, 0]) + first).tolist() == [1, 4, 3, 0, 2]
