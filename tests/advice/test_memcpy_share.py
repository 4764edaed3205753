"""Copies that nothing hides."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, finding, one_step
from tests.helpers.traces import kernel, memcpy
from torch_tb_profiler.advice.memcpy_share import detect


def test_copies_above_the_threshold_are_advised() -> None:
    events = [memcpy(0, 40, bytes=10), memcpy(50, 20, name="Memcpy DtoH", bytes=5)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(6.0)
    assert advice.gain_us == pytest.approx(60)
    assert list(advice.rows) == [
        {"calls": 1, "total_us": 40.0, "total_bytes": 10, "name": "Memcpy HtoD"},
        {"calls": 1, "total_us": 20.0, "total_bytes": 5, "name": "Memcpy DtoH"},
    ]


def test_copies_behind_kernels_are_not() -> None:
    assert detect(context(one_step([memcpy(0, 400), kernel("k", 0, 400, stream=8)]))) is None
    assert detect(context(one_step([memcpy(0, 50)]))) is None
