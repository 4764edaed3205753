"""Steps that vary, among which others vary less."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, notes_of
from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.detectors.unsteady_steps import CODE, detect
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.iterations import iterations_file


def steps(*lengths: float) -> Context:
    events: list[Event] = []
    begin = 0.0
    for number, length in enumerate(lengths):
        events += [step(number, begin, length), op("aten::mm", begin, length)]
        begin += length
    return context(trace(events))


def test_the_steady_range_is_named() -> None:
    advice = finding(detect(steps(170, 150, 100, 101, 100, 101, 100)))
    assert advice.gain_us is None
    assert "steps 2 to 6 by 0.5 %" in advice.text
    assert [row["step"] for row in advice.rows[:2]] == ["0", "1"]
    assert [row["is_steady"] for row in advice.rows] == [False, False, True, True, True, True, True]


def test_steady_steps_and_those_without_a_steadier_part_are_left_alone() -> None:
    assert detect(steps(100, 101, 100, 104, 100)) is None
    assert detect(steps(100, 150, 100, 150, 100, 150)) is None


def test_a_finding_of_long_steps_supersedes_it_and_names_the_range() -> None:
    notes = notes_of(steps(900, 100, 101, 100, 101, 100).trace)
    assert CODE not in notes
    assert "Suggested range: steps 1–5" in notes["uneven_steps"].text


def test_the_threshold_is_that_of_the_iterations() -> None:
    assert entry(CODE).threshold == pytest.approx(iterations_file().varies * 100)
