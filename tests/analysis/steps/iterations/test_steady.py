"""Where iterations vary much, the longest range that does not is proposed."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.steady import steadiness
from torch_tb_profiler.knowledge.iterations import iterations_file
from torch_tb_profiler.trace.model import Trace

RULES = iterations_file()


def _with(lengths: list[int]) -> Trace:
    events: list[Event] = []
    start = 0
    for number, length in enumerate(lengths):
        events += [step(number, start, length), op("aten::mm", start, 1)]
        start += length
    return trace(events)


def test_a_slow_start_is_left_out() -> None:
    steady = steadiness(_with([900, 500, 100, 101, 99, 100, 100, 102]), Selection())
    assert (steady.first, steady.last, steady.iterations) == ("2", "7", 6)
    assert steady.variation is not None
    assert steady.steady_variation is not None
    assert steady.variation > 0.9
    assert steady.steady_variation < 0.01


def test_what_does_not_vary_much_needs_no_range() -> None:
    steady = steadiness(_with([100, 101, 99, 100]), Selection())
    assert steady.first is None
    assert steady.variation == pytest.approx(pstdev([100, 101, 99, 100]) / 100)


@pytest.mark.parametrize("lengths", [[100], [100, 900, 100, 900, 100, 900], [10, 40, 160, 640]])
def test_without_a_steady_range_none_is_proposed(lengths: list[int]) -> None:
    assert steadiness(_with(lengths), Selection()).first is None


def test_only_what_lies_between_the_selected_is_proposed() -> None:
    lengths = [100] * 8 + [900] + [50] * 6
    steady = steadiness(_with(lengths), Selection(steps="5:14"))
    assert (steady.first, steady.last) == ("9", "14")


@examples(40)
@given(st.lists(st.integers(10, 60), min_size=2, max_size=12))
def test_agrees_with_a_look_at_every_range(lengths: list[int]) -> None:
    lengths = [lengths[0], *lengths]  # the last step may be left out, where it was cut
    steady = steadiness(_with(lengths), Selection(steps=":"))
    varies = pstdev(lengths) / fmean(lengths)
    assert steady.variation == pytest.approx(varies)
    least = max(RULES.steady_least, -(-len(lengths) * RULES.steady_share // 1))
    most = min(RULES.varies, RULES.steady_of_varies * varies)
    ranges = [
        (stop - start, -pstdev(lengths[start:stop]) / fmean(lengths[start:stop]))
        for start in range(len(lengths))
        for stop in range(start + 1, len(lengths) + 1)
        if least <= stop - start < len(lengths)
    ]
    good = [each for each in ranges if -each[1] <= most] if varies >= RULES.varies else []
    assert steady.iterations == (max(good)[0] if good else 0)
    if good:
        assert steady.steady_variation == pytest.approx(-max(good)[1], abs=1e-9)
