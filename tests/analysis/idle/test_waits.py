"""Which host calls wait: ``docs/metrics.md#idle-devices``."""

from __future__ import annotations

import pytest

from tests.helpers.traces import Event, call, kernel, memcpy, trace
from torch_tb_profiler.analysis.idle.waits import Wait, waits


def test_driver_calls_in_runtime_calls_are_one_wait_on_any_thread_at_any_time() -> None:
    start_us = 4e13  # a machine that has run for more than a year
    events: list[Event] = [kernel("k", start_us, 500)]
    for tid in range(600):
        events += [
            call("cudaStreamSynchronize", start_us + tid, 400, tid=tid),
            call("cuStreamSynchronize", start_us + tid + 1, 300, tid=tid, cat="cuda_driver"),
        ]
    of = trace(events)
    table = waits(of)
    assert table.height == 600
    assert {of.text(code) for code in table["name_code"]} == {"cudaStreamSynchronize"}


@pytest.mark.parametrize(
    ("name", "wait"),
    [
        ("Memcpy DtoH (Device -> Pageable)", Wait.FETCH),
        ("CopyDeviceToHost", Wait.FETCH),
        ("Memcpy D2M (DEVICE -> MEMORY(Unknown))", Wait.FETCH),
        ("Memcpy D2H (DEVICE -> HOST)", Wait.FETCH),
        ("Memcpy HtoD (Pageable -> Device)", Wait.UPLOAD),
        ("CopyHostToDevice", Wait.UPLOAD),
        ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", Wait.UPLOAD),
        ("Memcpy DtoD (Device -> Device)", Wait.COPY),
        ("Memcpy D2D (DEVICE -> DEVICE)", Wait.COPY),
    ],
)
def test_what_a_copy_that_keeps_its_caller_waits_for(name: str, wait: Wait) -> None:
    events = [call("urEnqueueUSMMemcpy", 0, 50, corr=1), memcpy(5, 40, corr=1, name=name)]
    assert waits(trace(events))["wait"].to_list() == [wait]


@pytest.mark.parametrize(
    ("kernel_us", "ends", "waits_for_it"),
    [
        (30, 41, True),  # the launch lasts from 5 to 45
        (30, 60, False),  # it is not over then
        (10, 41, False),  # it takes a quarter of the launch
    ],
)
def test_a_launch_that_lasts_as_long_as_its_kernel_waits_for_it(
    kernel_us: float, ends: float, waits_for_it: bool
) -> None:
    events = [
        call("cudaLaunchKernel", 5, 40, corr=1),
        kernel("k", ends - kernel_us, kernel_us, corr=1),
    ]
    assert waits(trace(events))["wait"].to_list() == [Wait.DEVICE] * waits_for_it


@pytest.mark.parametrize(("pending", "is_full"), [(1100, True), (900, False)])
def test_launches_wait_while_the_queue_is_full(pending: int, is_full: bool) -> None:
    """Kernels of 30 µs, one after the other; the last launch returns when one of them has ended."""
    events: list[Event] = []
    for at in range(pending):
        events += [call("cudaLaunchKernel", at, 0.5, corr=at + 1)]
        events += [kernel("k", 2000 + 30 * at, 30, corr=at + 1)]
    events += [call("cudaLaunchKernel", 2005, 27, corr=5000)]
    events += [kernel("k", 2000 + 30 * pending, 30, corr=5000)]
    assert waits(trace(events)).height == is_full
