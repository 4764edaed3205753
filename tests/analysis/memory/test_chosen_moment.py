"""The moment of ``at_us``: exact from the epoch as from the start."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.helpers.traces import op, trace
from torch_tb_profiler.analysis.memory.chosen_moment import chosen_moment
from torch_tb_profiler.trace.model import Trace


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return trace([op("aten::mm", 110, 50)])


@pytest.mark.parametrize(
    ("at_us", "time_ns"), [("1250.5", 1_250_500), ("-3", -3000), ("0.0004", 0)]
)
def test_the_time_of_a_moment(recorded: Trace, at_us: str, time_ns: int) -> None:
    assert chosen_moment(recorded, Decimal(at_us)) == time_ns


def test_no_moment_is_chosen(recorded: Trace) -> None:
    assert chosen_moment(recorded, None) is None


def test_epoch_time_is_exact(recorded: Trace) -> None:
    moment = chosen_moment(recorded, Decimal("1750000000000000.123"))
    assert moment == 1_750_000_000_000_000_123 - recorded.meta.base_ns
