"""Forest walks against walking one element at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.algebra import forests

Int64 = npt.NDArray[np.int64]


@st.composite
def a_forest(draw: st.DrawFn) -> Int64:
    """Parents in any order: a random permutation of a forest in which parents come first."""
    size = draw(st.integers(0, 40))
    ordered = [draw(st.integers(-1, element - 1)) for element in range(size)]
    names = draw(st.permutations(range(size)))
    parent = np.full(size, -1, np.int64)
    for element, above in enumerate(ordered):
        parent[names[element]] = names[above] if above >= 0 else -1
    return parent


def line_of(parent: Int64, element: int) -> list[int]:
    line = []
    while element >= 0:
        line.append(element)
        element = int(parent[element])
    return line


@given(a_forest(), st.data())
def test_nearest_marked_is_the_first_marked_on_the_way_up(
    parent: Int64, data: st.DataObject
) -> None:
    marked = np.array([data.draw(st.booleans()) for _ in parent], np.bool_)
    expected = [next((e for e in line_of(parent, i) if marked[e]), -1) for i in range(len(parent))]
    assert forests.nearest_marked(parent, marked).tolist() == expected


@given(a_forest(), st.data())
def test_with_ancestors_is_the_union_of_the_lines(parent: Int64, data: st.DataObject) -> None:
    chosen = [i for i in range(len(parent)) if data.draw(st.booleans())]
    expected = sorted({e for i in chosen for e in line_of(parent, i)})
    elements = forests.with_ancestors(np.array(chosen, np.int64), parent)
    assert elements.tolist() == expected


@given(a_forest())
def test_levels_hold_every_element_once_at_its_depth(parent: Int64) -> None:
    depths = {int(e): depth for depth, level in enumerate(forests.levels(parent)) for e in level}
    assert depths == {i: len(line_of(parent, i)) - 1 for i in range(len(parent))}
    assert sum(len(level) for level in forests.levels(parent)) == len(parent)


@given(a_forest())
def test_with_descendants_adds_what_lies_below(parent: Int64) -> None:
    values = np.arange(len(parent)) * 7 + 1
    expected = np.zeros(len(parent), np.int64)
    for element in range(len(parent)):
        for above in line_of(parent, element):
            expected[above] += values[element]
    assert forests.with_descendants(values, parent).tolist() == expected.tolist()


def test_a_line_of_100_000_elements_needs_no_recursion() -> None:
    parent = np.arange(-1, 99_999)
    marked = np.zeros(100_000, np.bool_)
    marked[0] = True
    assert not forests.nearest_marked(parent, marked).any()


def test_nulls_become_minus_one_and_stay_so_when_followed() -> None:
    at = forests.indices(pl.Series([2, None, 0], dtype=pl.Int32))
    assert at.tolist() == [2, -1, 0]
    assert forests.gather(np.array([5, 6, 7]), at).tolist() == [7, -1, 5]
    assert forests.gather(np.empty(0, np.int64), np.array([-1])).tolist() == [-1]
