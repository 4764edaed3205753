"""Kernels that fill few multiprocessors."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, one_step
from tests.helpers.traces import kernel
from torch_tb_profiler.advice.low_sm_efficiency import detect


def test_small_launches_are_advised() -> None:
    events = [kernel("a", 0, 300, blocks=0.1), kernel("b", 300, 100, blocks=0.5)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx((300 * 10 + 100 * 50) / 400)
    assert advice.gain_us == pytest.approx(400 * (1 - 20 / 50))


def test_communication_does_not_count() -> None:
    events = [
        kernel("a", 0, 300, blocks=2.0),
        kernel("ncclDevKernel_AllReduce(x)", 300, 600, blocks=0.1, stream=9),
    ]
    assert detect(context(one_step(events))) is None


def test_kernels_that_run_together_fill_together() -> None:
    events = [kernel(str(i), 0, 100, blocks=0.3, stream=i) for i in range(2)]
    assert detect(context(one_step(events))) is None


def test_without_the_number_of_blocks_nothing_is_said() -> None:
    events = [kernel("a", 0, 300, blocks=0.1), kernel("b", 300, 100)]
    assert detect(context(one_step(events))) is None
