"""Kernels that fill few multiprocessors."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import awaited, context, finding, launched, one_step
from tests.helpers.traces import Event, kernel, op
from torch_tb_profiler.detectors.low_sm_efficiency import detect

SCENE = awaited(
    [
        *launched("a", 100, 300, 1, launch_at=1, blocks=0.1),
        *launched("b", 400, 100, 2, launch_at=3, blocks=0.5),
    ],
    at=60,
)


def test_small_launches_are_advised() -> None:
    advice = finding(detect(context(one_step(SCENE))))
    assert advice.measured == pytest.approx((300 * 10 + 100 * 50) / 400)
    assert advice.gain_us == pytest.approx(300 * (1 - 10 / 50) / 2)
    assert "is in a." in advice.text
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (100_000, 400_000)


def test_inference_is_advised_more_than_larger_batches() -> None:
    inference = finding(detect(context(one_step(SCENE))))
    assert inference.variant == "inference"
    training = [*SCENE, op("autograd::engine::evaluate_function: AddBackward0", 50, 5)]
    assert "Larger batches" in finding(detect(context(one_step(training)))).text


def test_short_kernels_have_little_to_do_each() -> None:
    events: list[Event] = []
    for number in range(100):
        where = {"launch_at": 2 * number, "blocks": 0.01}
        events += launched("short", 300 + 5 * number, 5, number + 1, **where)
    advice = finding(detect(context(one_step(events))))
    assert advice.variant == "short"
    assert advice.gain_us is None
    assert "limits the step" not in advice.text


def test_a_small_part_of_the_step_is_not() -> None:
    assert detect(context(one_step(SCENE, length=5000))) is None


def test_communication_does_not_count() -> None:
    events = [
        kernel("a", 0, 300, blocks=2.0),
        kernel("ncclDevKernel_AllReduce(x)", 300, 600, blocks=0.1, stream=9),
    ]
    assert detect(context(one_step(events))) is None


def test_kernels_that_run_together_fill_together() -> None:
    events = [kernel(str(i), 0, 100, blocks=0.3, stream=i) for i in range(2)]
    assert detect(context(one_step(events))) is None


def test_without_the_number_of_blocks_there_is_no_finding() -> None:
    events = [kernel("a", 0, 300, blocks=0.1), kernel("b", 300, 100)]
    assert detect(context(one_step(events))) is None
