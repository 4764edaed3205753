"""GPUs that are idle."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, one_step
from tests.helpers.traces import kernel, op
from torch_tb_profiler.advice.low_gpu_utilization import detect


def test_all_idle_gpus_are_named() -> None:
    events = [
        kernel("k", 0, 400, device=0),
        kernel("k", 0, 600, device=1),
        kernel("k", 0, 250, device=12),
    ]
    advice = finding(detect(context(one_step(events))))
    assert advice.note().text.startswith("GPU 0 and 12 ran kernels less than 50 %")
    assert advice.measured == pytest.approx(25.0)
    # The same 250 us of work at 50 % would take a step of 500 us.
    assert advice.gain_us == pytest.approx(500)


def test_busy_gpus_and_no_gpus_are_not() -> None:
    assert detect(context(one_step([kernel("k", 0, 500)]))) is None
    assert detect(context(one_step([op("aten::mm", 0, 500)]))) is None
