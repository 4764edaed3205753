"""An optimizer with a kernel per parameter."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import ELEMENTWISE, awaited, context, finding, launched, one_step
from tests.helpers.traces import Event, annotation
from torch_tb_profiler.detectors.optimizer_not_fused import detect

FOREACH = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>>"


def scene(name: str, count: int, range_name: str = "Optimizer.step#SGD.step") -> list[Event]:
    events: list[Event] = [annotation(range_name, 0, 10 * count)]
    for number in range(count):
        events += launched(name, 10 * number + 5, 4, number + 1, launch_at=10 * number + 1)
    return events


def test_the_gain_is_the_gaps_between_the_kernels_and_half_of_these() -> None:
    """The host launches each after the one before it ended: one fused kernel would run from 5 to
    207 instead of 1009."""
    advice = finding(detect(context(one_step(scene(ELEMENTWISE, 101), length=3000))))
    assert advice.measured == 101
    assert advice.gain_us == pytest.approx(100 * 6 + 101 * 4 / 2)
    assert advice.at_stake_us == pytest.approx(100 * 6 + 101 * 4)  # gaps and kernels
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (5_000, 1_009_000)
    assert list(advice.rows) == [
        {
            "name": ELEMENTWISE,
            "operator": "Optimizer.step#SGD.step",
            "calls": 101,
            "total_us": 404.0,
        }
    ]


def test_fused_few_and_other_kernels_are_not() -> None:
    assert detect(context(one_step(scene(FOREACH, 101), length=3000))) is None
    assert detect(context(one_step(scene(ELEMENTWISE, 100), length=3000))) is None
    other = scene(ELEMENTWISE, 101, "Optimizer.zero_grad#SGD.zero_grad")
    assert detect(context(one_step(other, length=3000))) is None


def test_kernels_that_the_step_waits_for_save_half_of_their_time() -> None:
    events: list[Event] = [annotation("Optimizer.step#SGD.step", 0, 300)]
    for number in range(101):
        events += launched(ELEMENTWISE, 300 + 8 * number, 8, number + 1, launch_at=2 * number)
    advice = finding(detect(context(one_step(awaited(events, 302), length=1200))))
    assert advice.gain_us == pytest.approx(101 * 8 / 2)


def test_gaps_in_which_other_work_runs_are_no_gain() -> None:
    events = scene(ELEMENTWISE, 101)
    busy = launched("volta_sgemm_128x32_nn", 2, 1100, 1000, launch_at=1, stream=8)
    advice = finding(detect(context(one_step([*events, *busy], length=3000))))
    assert advice.gain_us is None


def test_without_launches_there_is_no_finding() -> None:
    events = [event for event in scene(ELEMENTWISE, 101) if event["cat"] != "cuda_runtime"]
    assert detect(context(one_step(events, length=3000))) is None
