"""Containment against looking at every pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import annotation, call, op, trace
from torch_tb_profiler.analysis.algebra.containment import (
    innermost_around,
    innermost_around_start,
    last_above,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace

SLICES = st.lists(
    st.tuples(st.booleans(), st.integers(1, 2), st.integers(0, 40), st.integers(0, 15)), max_size=14
)


def build(slices: list[tuple[bool, int, int, int]]) -> Trace:
    return trace(
        [
            annotation("range", at, dur, tid=tid) if is_range else call("c", at, dur, tid=tid)
            for is_range, tid, at, dur in slices
        ]
    )


@examples(150)
@given(SLICES)
def test_the_last_candidate_to_begin_that_is_still_open(
    slices: list[tuple[bool, int, int, int]],
) -> None:
    recording = build(slices)
    table = recording.slices
    candidates = table.filter(table["category"] == Category.ANNOTATION)["id"].to_numpy()
    calls = table.filter(table["category"] == Category.RUNTIME)["id"].to_numpy()
    rows = {row["id"]: row for row in table.iter_rows(named=True)}

    def expected(slice_id: int) -> int:
        it = rows[slice_id]
        around = [
            c
            for c in candidates.tolist()
            if rows[c]["track"] == it["track"]
            and (c < slice_id)
            and rows[c]["start_ns"] + rows[c]["dur_ns"] > it["start_ns"]
        ]
        return max(around, default=-1)

    assert innermost_around_start(recording, candidates, calls).tolist() == [
        expected(c) for c in calls.tolist()
    ]


def test_absent_slices_and_no_candidates_give_none() -> None:
    recording = build([(True, 1, 0, 10), (False, 1, 2, 1)])
    nothing, some = np.empty(0, np.int64), np.array([-1, 1])
    assert innermost_around_start(recording, nothing, some).tolist() == [-1, -1]
    assert innermost_around_start(recording, np.array([0]), some).tolist() == [-1, 0]
    assert innermost_around(recording, nothing, some).tolist() == [-1, -1]


def test_around_follows_the_tree() -> None:
    recording = trace([op("a", 0, 100), op("b", 10, 50), op("c", 20, 10), op("d", 70, 10)])
    ids = np.array([0, 1, 2, 3, -1])
    assert innermost_around(recording, np.array([0, 1]), ids).tolist() == [0, 1, 1, 0, -1]


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 20), st.integers(-1, 6)), max_size=8),
)
def test_last_above_is_the_first_hit_of_a_backward_scan(
    values: list[int], queries: list[tuple[int, int]]
) -> None:
    queries = [(min(stop, len(values)), threshold) for stop, threshold in queries]
    stop, threshold = np.array(queries, np.int64).reshape(-1, 2).T
    expected = [
        max((index for index in range(end) if values[index] > least), default=-1)
        for end, least in queries
    ]
    assert last_above(np.array(values), stop, threshold).tolist() == expected


def test_many_finished_calls_are_not_scanned_one_by_one() -> None:
    """A backward scan for each call took quadratic time."""
    count = 100_000
    ends_ns = np.append(10 * count, np.arange(count))
    stop = np.full(count, count + 1)
    assert (last_above(ends_ns, stop, np.full(count, count)) == 0).all()
