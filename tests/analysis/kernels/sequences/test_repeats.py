"""Repeated parts of runs: by hand, and against a count of every window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.analysis.kernels.sequences.repeats import (
    LONGEST,
    MIN_REPEATS,
    SHORTEST,
    Run,
    find_repeats,
)


def test_the_longest_goes_first() -> None:
    assert find_repeats([(1, 2, 3), (9, 1, 2)], [3, 5]) == {
        (1, 2, 3): [(0, 0)],
        (9, 1, 2): [(1, 0)],
    }


def test_parts_of_different_runs_are_counted_together() -> None:
    assert find_repeats([(1, 2, 3), (9, 1, 2)], [2, 1]) == {(1, 2): [(0, 0), (1, 1)]}


def test_what_comes_twice_is_none() -> None:
    assert find_repeats([(1, 2, 3)], [2]) == {}


def test_one_kernel_again_and_again() -> None:
    assert find_repeats([(7,) * 40], [1]) == {(7,) * 12: [(0, 0), (0, 12), (0, 24)]}


def text_of(runs: list[Run], number: int, at: int, length: int) -> Run:
    return runs[number][at : at + length]


@examples(200)
@given(
    st.lists(st.lists(st.integers(0, 2), max_size=15).map(tuple), max_size=5, unique=True),
    st.data(),
)
def test_nothing_that_comes_often_is_left(runs: list[Run], data: st.DataObject) -> None:
    times = [data.draw(st.integers(1, 3)) for _ in runs]
    sequences = find_repeats(runs, times)
    free = {(number, at) for number, run in enumerate(runs) for at in range(len(run))}
    for text, starts in sequences.items():
        assert SHORTEST <= len(text) <= LONGEST
        assert sum(times[number] for number, _ in starts) >= MIN_REPEATS
        for number, at in starts:
            assert text_of(runs, number, at, len(text)) == text
            mine = {(number, at + step) for step in range(len(text))}
            assert mine <= free  # they do not overlap
            free -= mine
    for length in range(SHORTEST, LONGEST + 1):
        left: dict[Run, int] = {}
        ends: dict[tuple[Run, int], int] = {}
        for number, run in enumerate(runs):
            for at in range(len(run) - length + 1):
                text = text_of(runs, number, at, length)
                whole = all((number, at + step) in free for step in range(length))
                if whole and ends.get((text, number), 0) <= at:
                    ends[text, number] = at + length
                    left[text] = left.get(text, 0) + times[number]
        assert all(count < MIN_REPEATS for count in left.values())
