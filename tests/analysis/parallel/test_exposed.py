"""Exposed, hidden and total time of groups of ranges, against a reference that goes through every
nanosecond."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.analysis.parallel.exposed import exposed_times

GROUPS = 3
SPANS = st.lists(st.tuples(st.integers(-5, 40), st.integers(0, 12)), max_size=8)


def arrays(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    start = np.array([each for each, _ in spans], np.int64)
    return start, start + np.array([length for _, length in spans], np.int64)


@examples(150)
@given(
    st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(-5, 40), st.integers(0, 12))),
    SPANS,
    st.lists(st.integers(0, 40), unique=True, max_size=6),
)
def test_every_nanosecond_counts_once(
    ranges: list[tuple[int, int, int]], busy: list[tuple[int, int]], edges: list[int]
) -> None:
    edges = sorted(edges)
    windows = list(itertools.pairwise(edges))
    start, end = arrays([(begin, length) for _, begin, length in ranges])
    group = np.array([each for each, _, _ in ranges], np.int64)
    first, last = (np.array([pair[side] for pair in windows], np.int64) for side in (0, 1))
    times = exposed_times((first, last), (group, start, end), arrays(busy), GROUPS)
    for row, (opens, closes) in enumerate(windows):
        total, exposed, hidden = [0.0] * GROUPS, [0.0] * GROUPS, [0.0] * GROUPS
        for ns in range(opens, closes):
            running = {g for g, begin, length in ranges if begin <= ns < begin + length}
            computing = any(begin <= ns < begin + length for begin, length in busy)
            for each in running:
                total[each] += 1
                hidden[each] += computing
                exposed[each] += 0 if computing else 1 / len(running)
        assert times.total[row].tolist() == total
        assert times.hidden[row].tolist() == hidden
        np.testing.assert_allclose(times.exposed[row], exposed)


def test_no_window_has_no_rows() -> None:
    none = np.empty(0, np.int64)
    times = exposed_times((none, none), (none, none, none), (none, none), GROUPS)
    assert times.total.shape == times.exposed.shape == (0, GROUPS)
