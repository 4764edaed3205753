"""Ranks that skip one of several equal calls, or make one too many, as stacks show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.flight_dumps import dump, entry, open_dump
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.hang.stack_shifts import StackShift, stack_shifts

PLACES = (10, 20, 30, 30, 30, 40, 50, 60)


def job(changed: dict[int, list[int]], ranks: int = 4) -> HangDiagnosis:
    """Ranks that call an equal all_reduce at each place; all complete what all of them entered."""
    lines = {rank: changed.get(rank, [*PLACES]) for rank in range(ranks)}
    common = min(len(each) for each in lines.values())
    members = {"0": ("default_pg", list(range(ranks)))}
    traces = {}
    for rank, own in lines.items():
        entries = [_call(number, line, number < common) for number, line in enumerate(own)]
        traces[f"rank{rank}"] = open_dump(dump(entries, members), rank)
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    return diagnosis


def _call(number: int, line: int, is_completed: bool) -> dict[str, Any]:
    state = "completed" if is_completed else "started"
    frames = [{"name": "step", "filename": "train.py", "line": line}]
    return entry(number, collective_seq_id=number + 1, frames=frames, state=state)


def shifts(diagnosis: HangDiagnosis) -> list[StackShift]:
    return stack_shifts(diagnosis.progress, diagnosis.problems[0].channel)


def test_a_rank_that_skips_an_equal_call_is_named_where_it_first_shows() -> None:
    without = [line for line in PLACES if line != 40]
    diagnosis = job({2: without})
    assert diagnosis.problems[0].sequence == len(PLACES)
    assert shifts(diagnosis) == [StackShift(2, 6, is_skip=True)]


def test_within_a_loop_over_one_place_it_shows_at_the_end_of_the_loop() -> None:
    assert shifts(job({1: [10, 20, 30, 30, 40, 50, 60]})) == [StackShift(1, 5, is_skip=True)]


def test_a_rank_that_makes_a_call_too_many_is_named() -> None:
    more = [10, 20, 30, 30, 30, 30, 40, 50, 60]
    assert shifts(job({3: more})) == [StackShift(3, 6, is_skip=False)]


@pytest.mark.parametrize(
    "lines", [[*PLACES][:-1], [11, 21, 31, 31, 31, 41, 51], [10, 20, 30, 30, 30, 99, 98]]
)
def test_ranks_that_stop_or_run_other_code_are_not_shifted(lines: list[int]) -> None:
    assert shifts(job({2: lines})) == []


def test_of_two_members_neither_is_named() -> None:
    assert shifts(job({1: [line for line in PLACES if line != 40]}, ranks=2)) == []
