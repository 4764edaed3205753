"""What host threads did: ``docs/metrics.md#idle-devices``."""

from __future__ import annotations

from tests.helpers.traces import Event, call, frame, kernel, op, trace
from torch_tb_profiler.analysis.idle.host_threads import host_activity

BACKWARD: list[Event] = [
    op("aten::mm", 0, 100),
    frame("<built-in method run_backward>", 100, 9900),
    op("MmBackward0", 200, 50, tid=2),
    call("cudaLaunchKernel", 210, 5, corr=1, tid=2),
    kernel("k", 220, 8000, corr=1),
    call("cudaStreamSynchronize", 300, 7000, tid=2),
    op("MmBackward0", 7310, 690, tid=2),
]


def activity(*events: Event) -> list[tuple[int, int]]:
    active = host_activity(trace([*BACKWARD, *events]))
    return [
        (start // 1000, end // 1000)
        for start, end in zip(active.start_ns.tolist(), active.end_ns.tolist(), strict=True)
    ]


def test_a_frame_while_another_thread_waits_is_no_activity() -> None:
    assert activity() == [(0, 300), (7300, 10_000)]


def test_operators_while_another_thread_waits_are() -> None:
    assert activity(op("aten::add", 2500, 500), op("aten::add", 3500, 500)) == [
        (0, 300),
        (2500, 4000),
        (7300, 10_000),
    ]
