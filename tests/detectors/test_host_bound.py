"""The GPU waits for the host although its kernels are long."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, op
from torch_tb_profiler.detectors.host_bound import detect
from torch_tb_profiler.detectors.launch_bound import detect as launch_bound


def scene(dur: float, launched_early: bool = False) -> list[Event]:
    """Five operators of 180 us of host, each with a kernel at its end."""
    events: list[Event] = []
    for number in range(5):
        at = 200 * number
        events.append(op("aten::mm", at, 180))
        where = 2 * number if launched_early else at + 170
        events += launched("k", at + 175, dur, number + 1, launch_at=where)
    return events


def test_idle_time_under_long_operators_is_the_gain() -> None:
    seen = context(one_step(scene(60)))
    advice = finding(detect(seen))
    # 171 us until the first launch has returned, then 136 us between kernels.
    assert advice.gain_us == pytest.approx(171 + 4 * 136)
    assert advice.values["operator"] == "aten::mm"
    assert advice.rows[0]["gaps"] == 5
    assert advice.spot is not None
    assert "graphs" not in advice.note().text
    assert launch_bound(seen) is None


def test_small_kernels_early_launches_and_unknown_ones_are_not() -> None:
    assert detect(context(one_step(scene(5)))) is None
    assert detect(context(one_step(scene(60, launched_early=True)))) is None
    unknown = [event for event in scene(60) if event["cat"] != "cuda_runtime"]
    assert detect(context(one_step(unknown))) is None


def test_long_gaps_before_small_kernels_are_the_hosts_own_work() -> None:
    """Images are prepared on the CPU for 5 ms, then a model of small kernels runs."""
    events: list[Event] = []
    for step in range(2):
        at = 6000 * step
        events += [op("aten::div", at + 50 * n, 48) for n in range(100)]
        for number in range(20):
            corr = 20 * step + number + 1
            events += launched("k", at + 5020 + 8 * number, 5, corr)
    whole = context(one_step(events, length=12_000))
    advice = finding(detect(whole))
    assert advice.variant == "long"
    assert "No launch takes that long" in advice.text
    assert "graph" not in advice.text
    assert launch_bound(whole) is None
