"""Convolutions without a search for their fastest algorithms."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import GEMM, awaited, context, finding, launched, one_step
from tests.helpers.traces import Event, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.detectors.cudnn_benchmark import detect
from torch_tb_profiler.trace.model import Trace

CONVOLUTION = "void cudnn::cnn::conv2d_grouped_direct_kernel<float, float>"
OFF: dict[str, Any] = {"program_settings": {"cudnn_benchmark": False}}


def scene(
    conv_us: float, gemm_us: float, *, calls: int = 8, shapes: int = 1, **header: Any
) -> Trace:
    events: list[Event] = []
    for number in range(8):
        size = 32 + number % shapes
        begin = 100 * number
        events.append(op("aten::convolution", begin, 40, shape=[[8, 3, size, size]]))
        events += launched(CONVOLUTION, begin + 10, conv_us, 2 * number + 1)
        events += launched(GEMM, begin + 60, gemm_us, 2 * number + 2)
    return one_step(events, length=800, **header)


def test_it_is_reported_if_the_setting_is_recorded_as_off() -> None:
    advice = finding(detect(context(scene(30, 10, **OFF))))
    assert advice.measured == pytest.approx(75)
    assert advice.gain_us is None
    assert [row["kernel"] for row in advice.rows] == [CONVOLUTION]


@pytest.mark.parametrize("header", [{}, {"program_settings": {"cudnn_benchmark": True}}])
def test_a_setting_that_is_on_or_not_recorded_is_not_reported(
    header: dict[str, Any],
) -> None:
    assert detect(context(scene(30, 10, **header))) is None


def test_without_the_setting_what_was_checked_says_how_to_record_it() -> None:
    def reason(of: Trace) -> str | None:
        rows = run_detectors(of, Selection()).checks.frame.to_dicts()
        (reason,) = (row["reason"] for row in rows if row["code"] == "cudnn_benchmark")
        assert reason is None or isinstance(reason, str)
        return reason

    assert "add_metadata_json" in (reason(scene(30, 10)) or "")
    assert reason(scene(1, 30, **OFF)) is None


def test_little_time_in_convolutions_and_ever_new_shapes_are_left_alone() -> None:
    assert detect(context(scene(3, 30, **OFF))) is None
    assert detect(context(scene(30, 10, shapes=2, **OFF))) is not None
    assert detect(context(scene(30, 10, shapes=3, **OFF))) is None


def test_without_a_gain_its_place_follows_from_a_part_of_its_time() -> None:
    """What the search saves is unknown: assumed is a quarter, to order it among others."""
    waited = awaited(conv_events(8), 100)
    advice = finding(detect(context(one_step(waited, length=1000, **OFF))))
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(8 * 100 / 4)
    assert advice.text.endswith("few different shapes.")
    idle = finding(detect(context(scene(30, 10, **OFF))))  # the device waits for its host
    assert idle.at_stake_us is None
    assert idle.text.endswith("something else limits the step.")


def conv_events(count: int) -> list[Event]:
    """Convolutions of 100 µs, one after the other, launched ahead."""
    events: list[Event] = []
    for number in range(count):
        begin = 10 * number
        events.append(op("aten::convolution", begin, 9, shape=[[8, 3, 32, 32]]))
        start = 100 + 100 * number
        events += launched(CONVOLUTION, start, 100, number + 1, launch_at=begin + 1)
    return events
