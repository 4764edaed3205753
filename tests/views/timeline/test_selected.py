"""Cases: one step, steps that touch or lie apart, unknown ones, a trace without steps, too many."""

from __future__ import annotations

import pytest

from tests.helpers.traces import annotation, op, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.views.timeline.selected import MAX_RANGES, selected_ranges, selected_text

US = 1000
# Step 3 follows 2 at once, 4 comes 50 µs later.
STEPS = [annotation(f"ProfilerStep#{n}", at, 100) for n, at in ((2, 0), (3, 100), (4, 250))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("3", [(100, 200)]),
        ("2:3", [(0, 200)]),
        ("2,4", [(0, 100), (250, 350)]),
        ("2:4", [(0, 200), (250, 350)]),
        (None, [(0, 200), (250, 350)]),
    ],
)
def test_steps_that_touch_are_one_stretch(
    steps: str | None, expected: list[tuple[int, int]]
) -> None:
    built = trace([*STEPS, *(op("aten::add", at, 5) for at in (10, 110, 260))])
    result = selected_ranges(built, Selection(steps=steps))
    assert result == [(start * US, end * US) for start, end in expected]


def test_steps_that_are_not_there() -> None:
    built = trace([*STEPS, op("aten::add", 10, 5)])
    with pytest.raises(SelectionError, match="no step"):
        selected_ranges(built, Selection(steps="9"))


def test_without_steps_the_only_one_is_the_recording() -> None:
    built = trace([op("aten::add", 10, 5), op("aten::mm", 40, 8)])
    assert selected_ranges(built, Selection(steps="0")) == [(10 * US, 48 * US)]


def test_stretches_are_bounded_and_lose_nothing() -> None:
    count = MAX_RANGES + 5
    built = trace([annotation(f"ProfilerStep#{n}", 10 * n, 5) for n in range(count)])
    result = selected_ranges(built, Selection())
    assert len(result) == MAX_RANGES
    assert (result[0][0], result[-1][1]) == (0, (10 * (count - 1) + 5) * US)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (None, None),
        ("all", None),
        ("last 2", "3:4"),
        ("2 - 3", "2:3"),
        ("4,2", "2,4"),
        ("2..4", "2:4"),
    ],
)
def test_the_text_of_a_selection_is_the_shortest(steps: str | None, expected: str | None) -> None:
    built = trace([*STEPS, *(op("aten::add", at, 5) for at in (10, 110, 260))])
    assert selected_text(built, Selection(steps=steps)) == expected
