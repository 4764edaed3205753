"""Waits for other ranks that push out the calls behind them; all times by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import launched, one_step
from tests.helpers.traces import Event, call, kernel
from torch_tb_profiler.evidence.collective_waits import waiting_time

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def _collective(launched_at: float, start: float, us: float, corr: int) -> list[Event]:
    """An all-reduce of 1000 numbers, with its call on the host."""
    sizes: dict[str, Any] = {"In msg nelems": 1000, "Out msg nelems": 1000}
    sizes["Collective name"] = "allreduce"
    return [
        call("cudaLaunchKernel", launched_at, 2, corr=corr),
        kernel(ALL_REDUCE, start, us, corr=corr, stream=20, dtype="Float", **sizes),
    ]


def _waiting_us(events: list[Event]) -> float:
    time = waiting_time(one_step(events))
    return float((time.end_ns - time.start_ns).sum()) / 1000


def _chain(*launches: float) -> list[Event]:
    """Three calls, the first of which waits for 180 µs; computation runs until 250."""
    events = launched("gemm", 10, 240, 1)
    for corr, (start, us, at) in enumerate(
        zip((50, 250, 270), (200, 20, 20), launches, strict=True), 2
    ):
        events += _collective(at, start, us, corr)
    return events


@pytest.mark.parametrize(
    ("launches", "waiting_us"),
    [
        ((1, 2, 3), 40),  # before the kernel: without the wait they would end at 70, 90 and 110
        ((1, 2, 265), 5),  # the last one could have run at 265, not at 270
        ((20, 30, 40), 0),  # after the kernel, whose result they need: not before 250
    ],
)
def test_a_hidden_wait_pushes_out_what_was_ready(
    launches: tuple[float, ...], waiting_us: float
) -> None:
    assert _waiting_us(_chain(*launches)) == waiting_us


def test_a_wait_counts_once_however_many_calls_stand_behind_it() -> None:
    """Nothing computes: 180 µs of 240."""
    events = [event for event in _chain(20, 30, 40) if event["name"] != "gemm"]
    assert _waiting_us(events) == 180
