"""Durations in advice are said in the unit a person would use."""

import pytest

from torch_tb_profiler.advice.finding import duration_text


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [(0.0, "0.0 µs"), (999.94, "999.9 µs"), (59_262.0, "59.3 ms"), (2_500_000.0, "2.50 s")],
)
def test_durations(duration_us: float, text: str) -> None:
    assert duration_text(duration_us) == text
