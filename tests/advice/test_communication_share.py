"""Much of the step is communication."""

from __future__ import annotations

import pytest

from tests.advice.scenes import context, found, one_step
from tests.helpers.traces import annotation, kernel
from torch_tb_profiler.advice.communication_share import detect


def test_communication_above_the_threshold_is_advised() -> None:
    events = [annotation("gloo:all_reduce", 0, 101, tid=2), annotation("gloo:barrier", 300, 20)]
    advice = found(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(12.1)
    assert advice.gain_us == pytest.approx(121)
    assert [(row["name"], row["calls"], row["total_us"]) for row in advice.rows] == [
        ("gloo:all_reduce", 1, 101.0),
        ("gloo:barrier", 1, 20.0),
    ]


def test_at_the_threshold_or_behind_computation_it_is_not() -> None:
    assert detect(context(one_step([annotation("gloo:all_reduce", 0, 100)]))) is None
    hidden = [annotation("gloo:all_reduce", 0, 500), kernel("gemm", 0, 500)]
    assert detect(context(one_step(hidden))) is None
