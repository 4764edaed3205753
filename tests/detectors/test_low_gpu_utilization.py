"""GPUs that are idle."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import call, kernel, op
from torch_tb_profiler.detectors.low_gpu_utilization import detect


def test_all_idle_gpus_are_named() -> None:
    events = [
        kernel("k", 0, 400, device=0),
        kernel("k", 0, 600, device=1),
        kernel("k", 0, 250, device=12),
    ]
    advice = finding(detect(context(one_step(events))))
    assert advice.note().text.startswith("Kernels run on GPU 0 and 12 for less than 50 %")
    assert advice.measured == pytest.approx(25.0)
    assert advice.gain_us is None


def test_it_says_what_the_idle_time_goes_to() -> None:
    events = [
        *launched("k", 10, 90, 1),
        op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 110, 400),
        op("aten::add", 510, 300),
        *launched("k", 800, 100, 2),
    ]
    (line,) = finding(detect(context(one_step(events)))).note().text.splitlines()
    assert line.endswith(
        "Idle time by cause, as share of the step: data loading 40.0 %, "
        "operators and launches 30.8 %, not recorded 10.0 %."
    )


def test_busy_gpus_and_no_gpus_are_not() -> None:
    assert detect(context(one_step([kernel("k", 0, 500)]))) is None
    assert detect(context(one_step([op("aten::mm", 0, 500)]))) is None
    assert detect(context(one_step([kernel("k", 0, 0)]))) is None


def test_devices_that_take_turns_have_a_text() -> None:
    events = [kernel("k", 100 * n, 98, device=n % 2) for n in range(10)]
    text = finding(detect(context(one_step(events)))).note().text
    assert "GPU 0 and 1" in text
    assert "for 49.0 % of the step copies ran or other GPUs worked" in text


def test_kernels_that_last_no_time_say_nothing() -> None:
    assert detect(context(one_step(launched("k", 100, 0, 1)))) is None


def test_after_graphs_whose_kernels_may_be_missing_it_does_not_call_gpus_idle() -> None:
    """The finding on that time says that the GPU may work: one story."""
    events = [
        call("cudaGraphLaunch", 0, 10, corr=1),
        call("cudaDeviceSynchronize", 20, 980),
        kernel("k", 950, 10, corr=1),
    ]
    text = finding(detect(context(one_step(events)))).note().text
    assert "That is a lower bound" in text
    assert "dle" not in text
