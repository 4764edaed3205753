"""Single runtime calls of milliseconds while no device works."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, op, step, trace
from torch_tb_profiler.detectors.launch_bound import detect as launch_bound
from torch_tb_profiler.detectors.long_calls import detect


def loading(at: float, corr: int) -> list[Event]:
    """A launch of 4 ms: its kernel's code is loaded first."""
    return [
        op("aten::mm", at, 4100),
        call("cudaLaunchKernel", at + 10, 4000, corr=corr),
        *launched("k", at + 4200, 5, corr)[1:],
    ]


def test_lazy_loading_is_warm_up_and_not_launching() -> None:
    events = [*loading(0, 1), *launched("k", 5000, 4000, 2)]
    seen = context(one_step(events, length=10_000))
    advice = finding(detect(seen))
    assert advice.gain_us == pytest.approx(4000)
    assert advice.rows == [
        {"call": "cudaLaunchKernel", "operator": "aten::mm", "calls": 1, "idle_us": 4000.0}
    ]
    assert "warm up" in advice.note().text
    assert advice.spot is not None
    assert advice.spot.end_ns - advice.spot.start_ns == 4_000_000
    assert launch_bound(seen) is None


def test_what_every_step_has_is_no_warm_up() -> None:
    events: list[Event] = []
    for number in range(3):
        at = 10_000 * number
        events += [step(number, at, 9990), call("cudaMalloc", at + 100, 3000)]
        events += launched("k", at + 4000, 5000, number + 1)
    advice = finding(detect(context(trace(events))))
    assert advice.variant == "always"
    assert "no warm-up" in advice.note().text


def test_calls_during_device_work_and_short_calls_do_not_count() -> None:
    busy = [*launched("k", 10, 9000, 1), call("cudaMalloc", 100, 3000)]
    assert detect(context(one_step(busy, length=10_000))) is None
    after = launched("k", 9500, 5, 1)
    short = [call("cudaMalloc", 110 * n, 99) for n in range(80)]
    assert detect(context(one_step([*short, *after], length=10_000))) is None
    graphs = [call("cudaGraphLaunch", 1100 * n, 990, corr=90 + n) for n in range(8)]
    assert detect(context(one_step([*graphs, *after], length=10_000))) is None
    assert detect(context(one_step([call("cudaMalloc", 100, 3000)], length=10_000))) is None


def test_calls_of_all_steps_are_one_row() -> None:
    events: list[Event] = []
    for number in range(3):
        at = 10_000 * number
        events += [step(number, at, 9990), call("cudaMalloc", at + 100, 3000)]
        events += launched("k", at + 4000, 5000, number + 1)
    assert finding(detect(context(trace(events)))).rows == [
        {"call": "cudaMalloc", "operator": None, "calls": 3, "idle_us": 9000.0}
    ]
