"""Each track has a place of its own in an exported trace, whatever numbers a recording has."""

from __future__ import annotations

from pathlib import Path

from tests.importers.nsys.exports import (
    CALL,
    KERNEL,
    call,
    global_pid,
    global_tid,
    kernel,
    strings,
    trace_of,
)
from torch_tb_profiler.reports.chrome_tracks import DEVICE_PROCESS, ChromeTracks


def test_a_gpu_with_the_number_of_a_process(tmp_path: Path) -> None:
    """As inside containers, where the program is process 1; and two processes on one GPU."""
    processes = (1, 20)
    calls = [call(0, 5, 1, globalTid=global_tid(pid, 7)) for pid in processes]
    kernels = [kernel(10, 20, deviceId=1, globalPid=global_pid(pid)) for pid in processes]
    trace = trace_of(tmp_path, {"StringIds": strings("f"), CALL: calls, KERNEL: kernels})
    tracks = ChromeTracks(trace)
    device = DEVICE_PROCESS + 1
    assert list(tracks.ids.values()) == [(1, 7), (20, 7), (device, 7), (device, "7 (2)")]
    assert tracks.process_of_device == {1: device}
