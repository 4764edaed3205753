"""Launched work that does not start for longer than any GPU needs."""

from __future__ import annotations

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, kernel
from torch_tb_profiler.detectors import device_gaps
from torch_tb_profiler.detectors.waiting_work import detect


def far_apart(count: int, gap: float) -> list[Event]:
    """Kernels of 50 us, all launched at once, a gap apart."""
    return [
        event
        for number in range(count)
        for event in launched("k", 50 + (50 + gap) * number, 50, number + 1, launch_at=2 * number)
    ]


def test_a_copy_that_holds_the_host_and_the_queue_is_named() -> None:
    """Half a second behind an event, as one decoding step of a server was recorded."""
    events = [*launched("k", 50, 50, 1, launch_at=0), *launched("k", 100_000, 50, 2, launch_at=4)]
    events.append(call("hipMemcpyWithStream", 20, 99_000))
    whole = context(one_step(events, length=100_060))
    advice = finding(detect(whole))
    assert advice.measured > 99
    assert advice.gain_us is None
    assert "in one gap of 200 µs or more (the longest: 99.9 ms)" in advice.text
    assert "In the longest gap the host is in hipMemcpyWithStream." in advice.text
    assert device_gaps.detect(whole) is None


def test_several_gaps_without_a_call_name_none() -> None:
    advice = finding(detect(context(one_step(far_apart(3, 4950), length=10_100))))
    assert "in 2 gaps of 200 µs or more (the longest: 4.95 ms)" in advice.text
    assert "no single call holds the host" in advice.text


def test_gaps_that_a_device_may_need_belong_to_the_other_finding() -> None:
    whole = context(one_step(far_apart(10, 150), length=2000))
    assert detect(whole) is None
    assert finding(device_gaps.detect(whole)).measured > 50


def test_before_the_first_recorded_work_of_a_graph_the_device_may_work() -> None:
    """Of a graph of long kernels the recorder has one memset, at the end."""
    events = [
        call("cudaGraphLaunch", 0, 10, corr=1),
        call("cudaDeviceSynchronize", 20, 6000),
        kernel("Memset (Device)", 5900, 10, corr=1, cat="gpu_memset"),
    ]
    advice = finding(detect(context(one_step(events, length=6100))))
    assert advice.variant == "graphs"
    assert "is not idle" in advice.text
    assert "the GPU is idle" not in advice.text
    assert "the host is in cudaDeviceSynchronize" in advice.text


def test_a_launch_that_is_not_recorded_says_nothing() -> None:
    events = [event for event in far_apart(3, 4950) if event["cat"] != "cuda_runtime"]
    assert detect(context(one_step(events, length=10_100))) is None
