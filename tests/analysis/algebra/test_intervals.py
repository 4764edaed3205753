"""Interval algebra: fixture FX17, worked edges, and a brute force that counts single moments."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    WeightProfile,
    clip,
    complement,
    empty,
    intersect,
    split_at_windows,
    subtract,
    total,
    total_within,
    union,
    union_all,
)

Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(-20, 20), st.integers(-20, 20)), max_size=8)


def arrays(ranges: Iterable[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    flat = np.array(list(ranges), np.int64).reshape(-1, 2)
    return flat[:, 0], flat[:, 1]


def merged(ranges: Pairs) -> Intervals:
    return union(*arrays(ranges))


def moments(ranges: Pairs) -> set[int]:
    return {moment for start, end in ranges for moment in range(start, end)}


def as_pairs(intervals: Intervals) -> Pairs:
    return list(zip(intervals.start_ns.tolist(), intervals.end_ns.tolist(), strict=True))


def assert_covers(intervals: Intervals, expected: set[int]) -> None:
    """Covers exactly these moments, in normal form: sorted, disjoint, none empty."""
    pairs = as_pairs(intervals)
    assert moments(pairs) == expected
    assert all(start < end for start, end in pairs)
    assert all(left[1] <= right[0] for left, right in pairwise(pairs))
    assert total(intervals) == len(expected)


def test_fx17() -> None:
    # Tenths of the fixture's numbers.
    ranges = [(11, 22), (15, 23), (33, 39), (35, 36), (37, 38), (41, 42)]
    assert as_pairs(merged(ranges)) == [(11, 23), (33, 39), (41, 42)]
    a = merged([(11, 22), (33, 44), (55, 66)])
    b = merged([(0, 1), (10, 14), (15, 16), (19, 34), (43, 46)])
    assert as_pairs(subtract(a, b)) == [(14, 15), (16, 19), (34, 43), (55, 66)]
    assert as_pairs(intersect(a, b)) == [(11, 14), (15, 16), (19, 22), (33, 34), (43, 44)]


def test_touching_intervals_join() -> None:
    assert as_pairs(merged([(5, 7), (3, 5), (9, 9)])) == [(3, 7)]


@given(pairs)
def test_union(ranges: Pairs) -> None:
    result = merged(ranges)
    assert_covers(result, moments(ranges))
    assert np.all(result.start_ns[1:] > result.end_ns[:-1])


@given(pairs, pairs)
def test_two_sets(left: Pairs, right: Pairs) -> None:
    a, b = merged(left), merged(right)
    assert_covers(intersect(a, b), moments(left) & moments(right))
    assert_covers(subtract(a, b), moments(left) - moments(right))
    assert_covers(union_all(a, b), moments(left) | moments(right))


@given(pairs, st.integers(-25, 25), st.integers(-25, 25))
def test_windows(ranges: Pairs, start: int, end: int) -> None:
    window = set(range(start, end))
    assert_covers(clip(merged(ranges), start, end), moments(ranges) & window)
    assert_covers(complement(merged(ranges), start, end), window - moments(ranges))


@given(pairs, pairs)
def test_total_within(ranges: Pairs, windows: Pairs) -> None:
    lengths = total_within(merged(ranges), *arrays(windows))
    assert lengths.tolist() == [len(moments(ranges) & set(range(*w))) for w in windows]


@given(pairs, pairs)
def test_pieces_in_windows(ranges: Pairs, windows: Pairs) -> None:
    filled = [window for window in windows if window[0] < window[1]]
    intervals = merged(ranges)
    pieces = split_at_windows(intervals, *arrays(filled))
    expected = [
        (row, number, max(start, first), min(end, last))
        for number, (first, last) in enumerate(filled)
        for row, (start, end) in enumerate(as_pairs(intervals))
        if start < last and first < end
    ]
    assert list(zip(*(column.tolist() for column in pieces), strict=True)) == expected
    assert pieces.length_ns.tolist() == [end - start for _, _, start, end in expected]


@given(
    st.lists(
        st.tuples(st.integers(-20, 20), st.integers(-20, 20), st.floats(0.001, 3)), max_size=8
    ),
    pairs,
    st.sampled_from([1.0, np.inf]),
)
def test_weight_profile(weighted: list[tuple[int, int, float]], windows: Pairs, cap: float) -> None:
    expected = 0.0
    for window in windows:
        for moment in range(*window):
            expected += min(sum(w for s, e, w in weighted if s <= moment < e), cap)
    profile = WeightProfile(
        *arrays((s, e) for s, e, _ in weighted), np.array([w for *_, w in weighted]), cap
    )
    assert profile.integral_within(*arrays(windows)) == pytest.approx(expected, abs=1e-9)


def test_levels_of_a_weight_profile() -> None:
    start, end = arrays([(0, 4), (2, 6), (9, 9)])
    moments_ns, levels = WeightProfile(start, end, np.array([0.5, 0.75, 9.0]), 1.0).levels()
    assert moments_ns.tolist() == [0, 2, 4, 6]
    assert levels.tolist() == [0.5, 1.0, 0.75, 0.0]


def test_weights_leave_no_residue_where_nothing_runs() -> None:
    # 0.1 + 0.2 - 0.1 - 0.2 is not 0 in doubles; the long gap would magnify it.
    start, end = arrays([(0, 2), (1, 2), (10**15, 10**15 + 1)])
    profile = WeightProfile(start, end, np.array([0.1, 0.2, 0.25]))
    assert profile.integral_within(*arrays([(2, 10**15)])) == 0.0


def test_nothing() -> None:
    assert total(empty()) == 0
    assert total(intersect(empty(), merged([(0, 1)]))) == 0
    assert total(subtract(empty(), merged([(0, 1)]))) == 0
