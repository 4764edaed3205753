"""The moment of ``at_us``: exact from the epoch as from the start, and no text is a trap."""

from __future__ import annotations

import pytest

from tests.helpers.traces import op, trace
from torch_tb_profiler.analysis.memory.chosen_moment import chosen_moment
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return trace([op("aten::mm", 110, 50)])


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [(None, None), (" ", None), ("1250.5", 1_250_500), (" -3 ", -3000), ("0.0004", 0)],
)
def test_the_time_of_a_moment(recorded: Trace, text: str | None, time_ns: int | None) -> None:
    assert chosen_moment(recorded, Selection(at_us=text)) == time_ns


def test_epoch_time_is_exact(recorded: Trace) -> None:
    moment = chosen_moment(recorded, Selection(at_us="1750000000000000.123"))
    assert moment == 1_750_000_000_000_000_123 - recorded.meta.base_ns


@pytest.mark.parametrize("text", ["soon", "nan", "-inf", "1e999999999", "9e18", "sNaN"])
def test_what_is_no_time(recorded: Trace, text: str) -> None:
    with pytest.raises(SelectionError, match="at_us"):
        chosen_moment(recorded, Selection(at_us=text))
