"""Launches without any device work."""

from __future__ import annotations

from tests.detectors.scenes import context, finding, launched, notes_of, one_step
from tests.helpers.traces import call, op
from torch_tb_profiler.detectors.device_missing import detect

LAUNCHES = [
    op("aten::mm", 0, 50),
    call("cudaLaunchKernel", 10, 5, corr=1),
    call("cudaLaunchKernel", 20, 5, corr=2),
    call("cudaGraphLaunch", 30, 9, corr=3),
    call("cudaStreamSynchronize", 60, 5, corr=4),
    call("cudaLaunchKernel", 1001, 5, corr=5),
]


def test_launches_without_device_work_are_reported_first_without_a_gain() -> None:
    """The rows are those of the step, as in other findings."""
    of = one_step(LAUNCHES)
    advice = finding(detect(context(of)))
    assert (advice.measured, advice.gain_us) == (4, None)
    assert list(advice.rows) == [
        {"call": "cudaLaunchKernel", "calls": 2, "total_us": 10.0},
        {"call": "cudaGraphLaunch", "calls": 1, "total_us": 9.0},
    ]
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (10_000, 15_000)
    assert "launched work 4 times" in advice.text
    assert list(notes_of(of)) == ["device_missing"]


def test_some_device_work_or_no_launch_is_left_alone() -> None:
    assert detect(context(one_step([*LAUNCHES, *launched("k", 70, 10, 9)]))) is None
    assert detect(context(one_step([op("aten::mm", 0, 50)]))) is None
    assert detect(context(one_step([]))) is None
