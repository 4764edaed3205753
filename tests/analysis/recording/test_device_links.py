"""Why device time of host slices is unknown: nothing ran, or nothing that ran is linked."""

from __future__ import annotations

from tests.helpers.traces import call, kernel, op, trace
from torch_tb_profiler.analysis.recording.device_links import (
    NO_DEVICE_WORK,
    NO_LAUNCHES,
    no_device_time,
)


def test_the_reason_is_of_the_recording() -> None:
    launch = [op("aten::mm", 0, 10), call("cudaLaunchKernel", 1, 1, corr=1)]
    assert no_device_time(trace(launch)) == NO_DEVICE_WORK
    assert no_device_time(trace([op("aten::mm", 0, 10), kernel("k", 5, 5)])) == NO_LAUNCHES
    assert no_device_time(trace([*launch, kernel("k", 5, 5, corr=1)])) is None
