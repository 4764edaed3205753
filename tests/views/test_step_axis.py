"""Cases: numbers; a name that is none; digits that a double does not hold; other digits."""

from __future__ import annotations

import pytest

from torch_tb_profiler.views.step_axis import step_axis


def test_steps_lie_at_their_numbers() -> None:
    assert step_axis(["7", "12", "999999999999999"]) == [7, 12, 999_999_999_999_999]
    assert step_axis([]) == []


@pytest.mark.parametrize("odd", ["x", "", "-1", "9007199254740993", "9" * 4000, "\u0664", "²"])
def test_steps_of_other_names_lie_side_by_side(odd: str) -> None:
    assert step_axis(["7", odd, "12"]) == [0, 1, 2]
