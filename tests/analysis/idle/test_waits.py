"""Which host calls wait: ``docs/metrics.md#idle-devices``."""

from __future__ import annotations

from tests.helpers.traces import Event, call, kernel, trace
from torch_tb_profiler.analysis.idle.waits import waits


def test_driver_calls_in_runtime_calls_are_one_wait_on_any_thread_at_any_time() -> None:
    start_us = 4e13  # a machine that has run for more than a year
    events: list[Event] = [kernel("k", start_us, 500)]
    for tid in range(600):
        events += [
            call("cudaStreamSynchronize", start_us + tid, 400, tid=tid),
            call("cuStreamSynchronize", start_us + tid + 1, 300, tid=tid, cat="cuda_driver"),
        ]
    of = trace(events)
    found = waits(of)
    assert found.height == 600
    assert {of.text(code) for code in found["name_code"]} == {"cudaStreamSynchronize"}
