"""Aids for debugging. Names and nesting as torch 2.14 records them."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, annotation, frame, op
from torch_tb_profiler.detectors.slow_api import detect


def node(ts: float, *, checked: bool, check_us: float = 30) -> list[Event]:
    """A node of a backward pass, whose gradient is looked at or not."""
    checks = [
        op("aten::isnan", ts + 41, 10),
        op("aten::_is_any_true", ts + 52, check_us - 12),
        op("aten::item", ts + 41 + check_us - 1, 1),
    ]
    return [
        op("autograd::engine::evaluate_function: MulBackward0", ts, 100),
        op("MulBackward0", ts + 1, 39),
        *(checks if checked else []),
    ]


def test_anomaly_detection_is_detected_by_its_checks() -> None:
    events = [*node(0, checked=True), *node(200, checked=True), *node(400, checked=False)]
    advice = finding(detect(context(one_step(events))))
    assert advice.variant == "anomaly"
    assert advice.measured == pytest.approx(6)
    assert advice.gain_us == pytest.approx(60)
    assert advice.rows == [
        {"aid": "torch.autograd.set_detect_anomaly", "calls": 6, "time_us": 60.0}
    ]


def test_looking_for_nan_in_the_program_is_no_anomaly_detection() -> None:
    events = [op("aten::isnan", 10, 300), op("aten::item", 320, 100)]
    events += [op("MulBackward0", 500, 200), op("aten::isnan", 510, 100)]
    assert detect(context(one_step(events))) is None


def test_gradients_compared_with_numerical_ones() -> None:
    outer = frame("torch/autograd/gradcheck.py(1999): gradcheck", 100, 400, python_id=1)
    inner = frame(
        "torch/autograd/gradcheck.py(2107): _gradcheck_helper", 110, 300, python_id=2, parent=1
    )
    advice = finding(detect(context(one_step([outer, inner]))))
    assert advice.variant == "gradcheck"
    assert advice.gain_us == pytest.approx(400)


@pytest.mark.parametrize(("count", "speaks"), [(10, False), (11, True)])
def test_ranges_are_reported_by_their_number(count: int, speaks: bool) -> None:
    events: list[Event] = [annotation("part", 10 + 40 * n, 3) for n in range(count)]
    result = detect(context(one_step(events)))
    assert (result is not None) is speaks
    if result is not None:
        assert finding(result).variant == "ranges"
        assert result.gain_us is None


def test_ranges_cost_nothing_where_the_host_is_early() -> None:
    events: list[Event] = [annotation("part", 10 + 20 * n, 3) for n in range(40)]
    events += launched("k", 5, 990, 1, launch_at=1)
    assert detect(context(one_step(events))) is None
