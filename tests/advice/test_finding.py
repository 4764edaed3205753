"""Durations in advice are said in the unit a person would use."""

import pytest

from torch_tb_profiler.advice.finding import MAX_QUOTED, duration_text, shortened


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0.0, "0.0 µs"), (999.94, "999.9 µs"), (59_262.0, "59.3 ms"), (2_500_000.0, "2.50 s")],
)
def test_durations(duration_us: float, text: str) -> None:
    assert duration_text(duration_us) == text


def test_names_are_quoted_on_one_line_and_not_endless() -> None:
    assert shortened(3.5) == 3.5
    assert shortened("aten::mm") == "aten::mm"
    assert shortened("{gain}\n<b>  x") == "{gain} <b> x"
    assert shortened("k" * 5000) == "k" * MAX_QUOTED + "…"
