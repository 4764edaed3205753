"""An optimizer with a kernel per parameter."""

from __future__ import annotations

import pytest

from tests.advice.scenes import ELEMENTWISE, context, finding, launched, one_step
from tests.helpers.traces import Event, annotation
from torch_tb_profiler.advice.optimizer_not_fused import detect

FOREACH = "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>>"


def scene(name: str, count: int, range_name: str = "Optimizer.step#SGD.step") -> list[Event]:
    events: list[Event] = [annotation(range_name, 0, 10 * count)]
    for number in range(count):
        events += launched(name, 10 * number + 5, 4, number + 1, launch_at=10 * number + 1)
    return events


def test_the_gain_is_the_gaps_between_the_kernels() -> None:
    advice = finding(detect(context(one_step(scene(ELEMENTWISE, 101), length=3000))))
    assert advice.measured == 101
    assert advice.gain_us == pytest.approx(100 * 6)
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
