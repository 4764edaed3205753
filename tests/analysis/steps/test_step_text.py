"""Which steps a text means, compared with lists written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.selection import SelectionError
from torch_tb_profiler.analysis.steps.step_text import format_steps, parse_steps

NAMES = ["3", "4", "5", "10", "warm up", "a,b", "5-10"]


def meant(text: str) -> list[str]:
    mask = parse_steps(text, NAMES)
    return [name for name, hit in zip(NAMES, mask, strict=True) if hit]


@pytest.mark.parametrize(
    "text", ["3-5", "3:5", "3..5", "3...5", "3 – 5", "3 to 5", "steps 3-5", "step 3:5", "3,4,5"]
)
def test_ranges_as_people_write_them(text: str) -> None:
    assert meant(text) == ["3", "4", "5"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3,5", ["3", "5"]),
        ("3; 10", ["3", "10"]),
        ("ProfilerStep#4", ["4"]),
        ("#4", ["4"]),
        ("iteration 10", ["10"]),
        ("4-", ["4", "5", "10"]),
        ("..4", ["3", "4"]),
        ("all", NAMES),
        ("first 2", ["3", "4"]),
        ("First", ["3"]),
        ("last 2", ["a,b", "5-10"]),
        ("last 99 steps", NAMES),
        ("first,last", ["3", "5-10"]),
        ("warm up", ["warm up"]),
        ("a,b", ["a,b"]),
        ("5-10", ["5-10"]),
        ("5:10", ["5", "10"]),
    ],
)
def test_what_a_text_means(text: str, expected: list[str]) -> None:
    assert meant(text) == expected


def test_first_and_last_count_steps_that_were_recorded_to_their_end() -> None:
    complete = np.array([True, True, False])
    assert parse_steps("last", ["0", "1", "2"], complete).tolist() == [False, True, False]
    assert parse_steps("last", ["0", "1"], np.array([False, False])).tolist() == [False, True]
    assert parse_steps("2", ["0", "1", "2"], complete).tolist() == [False, False, True]


def test_steps_of_several_processes_count_once() -> None:
    assert (
        parse_steps("last 2", ["1", "1", "2", "2", "3", "3"]).tolist() == [False] * 2 + [True] * 4
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5:3", "'5:3' ends before it begins"),
        ("6", "there is no step '6'. The recording has steps 3, 4, 5, 10, warm up … 5-10"),
        ("abc", "'abc' is not understood; write 5, 3-5, 3,5:8, first 3, last 3"),
        ("last 0", "'last 0' selects no step"),
        ("3,,4", "'' is not understood"),
        ("last three", "'last three' is not understood"),
        ("<b>" * 1000, "is not understood"),
    ],
)
def test_what_is_not_understood_is_answered(text: str, message: str) -> None:
    with pytest.raises(SelectionError) as caught:
        meant(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_the_shortest_text_means_the_same() -> None:
    assert format_steps(["3", "4", "5", "8"]) == "3:5,8"
    assert format_steps(["1", "1", "2"]) == "1:2"
    assert format_steps(["warm", "007", "7"]) == "warm,007,7"
    assert format_steps([]) == ""
    for text in ("3:5", "3,5", "10", "4:"):
        assert meant(format_steps(meant(text))) == meant(text)
