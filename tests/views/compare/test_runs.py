"""Longest matching runs against a search through all of them, and of sequences so long that
comparing each element with each other one would take minutes."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.views.compare.runs import MAX_PASSES, Run, matching_runs

few_elements = st.lists(st.sampled_from("abc"), max_size=9)


def searched(left: Sequence[str], right: Sequence[str], at: tuple[int, int] = (0, 0)) -> set[Run]:
    """The same by trying every start and every length."""
    best = Run(0, 0, 0)
    for i in range(len(left)):
        for k in range(len(right)):
            size = 0
            while [*left[i : i + size + 1]] == [*right[k : k + size + 1]] and (
                i + size < len(left) and k + size < len(right)
            ):
                size += 1
            if size > best.size:
                best = Run(i, k, size)
    if not best.size:
        return set()
    i, k, size = best
    return (
        {Run(at[0] + i, at[1] + k, size)}
        | searched(left[:i], right[:k], at)
        | searched(left[i + size :], right[k + size :], (at[0] + i + size, at[1] + k + size))
    )


@given(few_elements, few_elements)
def test_runs_are_those_of_the_search(left: list[str], right: list[str]) -> None:
    runs = matching_runs(left, right)
    assert set(runs) == searched(left, right)
    assert len(runs) == len(set(runs))


def test_thousands_of_like_elements_take_no_time() -> None:
    blocks = ["Linear", "ReLU"] * 20_000
    assert matching_runs(blocks, ["Embedding", *blocks]) == [Run(0, 1, 40_000)]


def test_the_work_is_bounded_where_every_run_is_single() -> None:
    left = [each for i in range(1000) for each in ("x", f"only left {i}")]
    right = [each for i in range(1000) for each in ("x", f"only right {i}")]
    runs = matching_runs(left, right)
    assert MAX_PASSES <= len(runs) < 1000
    assert all(run == Run(run.start_left, run.start_left, 1) for run in runs)
