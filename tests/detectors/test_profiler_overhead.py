"""The profiler's own overhead."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, kernel, slice_event
from torch_tb_profiler.detectors.long_calls import detect as long_calls
from torch_tb_profiler.detectors.profiler_overhead import detect


def overhead(at: float, dur: float, name: str = "Activity Buffer Request") -> Event:
    return slice_event("overhead", name, at, dur, pid="-1", tid="0")


def test_it_has_no_gain_but_is_reported() -> None:
    events = [
        call("cudaLaunchKernel", 10, 600, corr=1),
        kernel("k", 620, 300, corr=1),
        overhead(50, 500),
    ]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(50)
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(500)
    assert advice.spot is not None


def test_with_a_busy_device_or_without_devices_there_is_no_finding() -> None:
    assert detect(context(one_step([*launched("k", 10, 900, 1), overhead(50, 500)]))) is None
    assert detect(context(one_step([overhead(50, 500)]))) is None


def test_loading_of_code_is_none_of_the_profilers() -> None:
    loading = overhead(50, 3900, "Lazy Function Loading")
    events = [call("cudaLaunchKernel", 10, 4000, corr=1), kernel("k", 4020, 900, corr=1), loading]
    seen = context(one_step(events, length=5000))
    assert detect(seen) is None
    assert finding(long_calls(seen)).gain_us == pytest.approx(4000)
