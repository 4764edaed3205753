"""The verdict as trackers show it, points by moment, errors of packages."""

from __future__ import annotations

import pytest

from tests.reports.examples import HOSTILE
from torch_tb_profiler.reports.scalars.tracked import (
    MAX_TEXT,
    RecordingVerdict,
    moments,
    tracker_errors,
    verdict_of,
)
from torch_tb_profiler.reports.scalars.values import Scalar
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.views.schema import Note, View


def test_the_first_findings_with_their_titles() -> None:
    notes = tuple(
        Note("advice", f"c{n}", "warning", f"Text {n}.", {"title": f"Title {n}"}) for n in range(5)
    )
    limit = Note("quality", "q", "info", "A limit.")
    verdict = verdict_of(View(answer="Slow.", notes=(limit, *notes)))
    assert verdict.texts() == {
        "profiler/verdict": "Slow.",
        "profiler/finding_1": "Title 0. Text 0.",
        "profiler/finding_2": "Title 1. Text 1.",
        "profiler/finding_3": "Title 2. Text 2.",
    }
    assert verdict_of(View()).sentence == "Nothing stands out in what was recorded."


def test_texts_are_short_and_move_no_cursor() -> None:
    texts = RecordingVerdict("x" * 9_000, (HOSTILE,)).texts()
    assert len(texts["profiler/verdict"]) == MAX_TEXT
    assert texts["profiler/verdict"].endswith("…")
    assert "\x1b" not in texts["profiler/finding_1"]
    assert "\n" not in texts["profiler/finding_1"]


def test_points_of_one_step_and_time_are_together() -> None:
    points = [
        Scalar("a", 5, 2.0, 1.0), Scalar("a", 3, 1.0, 2.0),
        Scalar("b", 5, 2.0, 3.0), Scalar("b", 5, 2.5, 4.0),
    ]  # fmt: skip
    assert list(moments(points)) == [
        (3, 1.0, {"a": 2.0}),
        (5, 2.0, {"a": 1.0, "b": 3.0}),
        (5, 2.5, {"b": 4.0}),
    ]


def test_an_error_of_a_package_is_one_line() -> None:
    with (
        pytest.raises(RequestError, match="X could not be written: first second") as caught,
        tracker_errors("X", lambda error: f"Do {type(error).__name__}."),
    ):
        raise ValueError("first\n  second")
    assert caught.value.problem.hint == "Do ValueError."
    problem = RequestError("bad_parameter", "as it is")
    with pytest.raises(RequestError, match="as it is"), tracker_errors("X", str):
        raise problem
