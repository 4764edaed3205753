"""Groups of two ranks that disagree: what the other groups of their kind called decides."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.helpers.flight_dumps import dump, entry, open_dump
from torch_tb_profiler.analysis.hang.diagnosis import HangDiagnosis, diagnose
from torch_tb_profiler.analysis.hang.problems import HangProblem
from torch_tb_profiler.views.hang.verdict import verdict

PROGRAM = ("all_gather", "reduce_scatter") * 3
SKIPPED = (*PROGRAM[:4], *PROGRAM[5:])
"""It leaves the fifth call out, so that its fifth is the sixth of the others."""


def job(groups: Sequence[tuple[Sequence[str], Sequence[str]]], purpose: str) -> HangDiagnosis:
    """Groups of two ranks with these calls; those of a group that differ wait from there on."""
    purposes = [purpose, *["tp"] * (len(groups) - 1)]
    members = {
        str(number): (purposes[number], [2 * number, 2 * number + 1])
        for number in range(len(groups))
    }
    traces = {}
    for rank in range(2 * len(groups)):
        number, both = rank // 2, groups[rank // 2]
        fits = [a == b for a, b in zip(*both, strict=False)]
        first = fits.index(False) if False in fits else len(PROGRAM)
        entries = [
            entry(
                turn,
                process_group=(str(number), purposes[number]),
                profiling_name=f"nccl:{operation}",
                collective_seq_id=turn + 1,
                state="completed" if turn < first else "started",
            )
            for turn, operation in enumerate(both[rank % 2])
        ]
        traces[f"rank{rank}"] = open_dump(dump(entries, members), rank)
    diagnosis = diagnose(traces)
    assert diagnosis is not None
    return diagnosis


def first(diagnosis: HangDiagnosis) -> HangProblem:
    return diagnosis.problems[0]


@pytest.mark.parametrize("position", [0, 1])
def test_other_groups_say_whose_call_fits(position: int) -> None:
    pair = (SKIPPED, PROGRAM) if position == 0 else (PROGRAM, SKIPPED)
    diagnosis = job([pair, (PROGRAM, PROGRAM), (PROGRAM, PROGRAM)], "tp")
    problem = first(diagnosis)
    assert (problem.sequence, problem.odd, problem.sibling_groups) == (5, (position,), 2)
    assert verdict(diagnosis).startswith(
        f"Rank {position} called reduce_scatter as #5 of group tp, where rank {1 - position} "
        "called all_gather, as 2 other groups with the same purpose did"
    )


def test_a_group_of_another_purpose_says_nothing() -> None:
    problem = first(job([(SKIPPED, PROGRAM), (PROGRAM, PROGRAM)], "pp"))
    assert (problem.odd, problem.sibling_groups) == ((0, 1), 0)


def test_a_group_that_called_something_else_before_says_nothing() -> None:
    other = ("all_gather", "all_gather", *PROGRAM[2:])
    problem = first(job([(SKIPPED, PROGRAM), (other, other)], "tp"))
    assert (problem.odd, problem.sibling_groups) == ((0, 1), 0)


def test_groups_that_disagree_with_each_other_leave_it_open() -> None:
    other = (*PROGRAM[:4], "reduce_scatter", "all_gather")
    problem = first(job([(SKIPPED, PROGRAM), (PROGRAM, PROGRAM), (other, other)], "tp"))
    assert (problem.odd, problem.sibling_groups) == ((0, 1), 0)
