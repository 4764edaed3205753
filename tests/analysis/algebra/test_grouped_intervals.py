"""Lengths of intervals by group against counting moments one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.algebra.grouped_intervals import (
    span_lengths,
    union_by_group,
    union_lengths,
)

GROUPS = 5

a_row = st.tuples(st.integers(-1, 3), st.integers(-9, 9), st.integers(-2, 9))


@given(
    st.lists(a_row, max_size=20),
    # Far from zero and far apart, where times times groups leave int64.
    st.sampled_from([(0, 1), (2**61, 1), (0, 2**57)]),
    st.booleans(),
)
def test_lengths_count_moments(
    rows: list[tuple[int, int, int]], clock: tuple[int, int], in_order: bool
) -> None:
    origin, unit = clock
    if in_order:
        rows = sorted(rows)
    group, start, duration = (np.array([row[part] for row in rows], np.int64) for part in range(3))
    begin, end = start * unit + origin, (start + duration) * unit + origin
    union, span = [], []
    for number in range(GROUPS):
        own = [(s, max(s, s + d)) for g, s, d in rows if g == number]
        moments = {moment for s, e in own for moment in range(s, e)}
        whole = max(e for _, e in own) - min(s for s, _ in own) if own else 0
        union.append(len(moments) * unit)
        span.append(whole * unit)
    assert union_lengths(group, begin, end, GROUPS).tolist() == union
    assert span_lengths(group, begin, end, GROUPS).tolist() == span


def test_long_sums_are_exact() -> None:
    """Beyond 2**53 ns a float would round."""
    start = np.array([0, 2**54 + 2], np.int64)
    end = np.array([2**54 + 1, 2**54 + 4], np.int64)
    assert union_lengths(np.zeros(2, np.int64), start, end, 1).tolist() == [2**54 + 3]


@given(st.lists(a_row, max_size=20))
def test_unions_hold_the_same_moments_in_disjoint_stretches(
    rows: list[tuple[int, int, int]],
) -> None:
    group, start, duration = (np.array([row[part] for row in rows], np.int64) for part in range(3))
    columns = [column.tolist() for column in union_by_group(group, start, start + duration)]
    stretches = list(zip(*columns, strict=True))
    for number in range(GROUPS):
        moments = {m for g, s, d in rows if g == number for m in range(s, s + d)}
        own = [(s, e) for g, s, e in stretches if g == number]
        assert [m for s, e in own for m in range(s, e)] == sorted(moments)
        assert all(after > before for (_, before), (after, _) in pairwise(own))
