"""Graphs that are captured inside the recorded steps."""

from __future__ import annotations

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, op, step, trace
from torch_tb_profiler.detectors.graph_capture import detect
from torch_tb_profiler.detectors.launch_bound import detect as launch_bound


def scene(capture: float) -> list[Event]:
    return [
        *launched("k", 10, 5, 1),
        op("aten::mm", 20, capture),
        call("cudaStreamBeginCapture_v10000", 20, 2),
        call("cudaStreamEndCapture_v10000", 20 + capture - 5, 5),
        *launched("k", 900, 5, 2, launch_at=20 + capture),
    ]


def test_a_capture_is_no_reason_to_capture_graphs() -> None:
    whole = context(one_step(scene(600)))
    advice = finding(detect(whole))
    assert advice.measured == 60
    assert advice.gain_us is None
    assert "once per graph" in advice.text
    assert launch_bound(whole) is None


def test_a_short_one_is_none() -> None:
    assert detect(context(one_step(scene(40)))) is None


def test_steps_that_all_capture_are_not_told_to_warm_up() -> None:
    events: list[Event] = []
    for number in range(3):
        at = 1000 * number
        events += [
            step(number, at, 1000),
            call("cudaStreamBeginCapture", at + 20, 2),
            call("cudaStreamEndCapture", at + 600, 5),
            *launched("k", at + 900, 50, number + 1, launch_at=at + 620),
        ]
    advice = finding(detect(context(trace(events))))
    assert advice.variant == "again"
    assert "3 of 3 steps capture" in advice.text
    assert "Warm up" not in advice.text
