"""Batches that are too small for the memory of the GPU."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, device, finding, launched, one_step
from tests.helpers.traces import Event, memory, op
from torch_tb_profiler.detectors.spare_memory import detect
from torch_tb_profiler.trace.model import Trace

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
BACKWARD = op("AddmmBackward0", 900, 50)


def scene(allocated: int, *more: Event, gap: float = 100) -> Trace:
    """Kernels of 20 µs that the host launches every ``gap`` µs, on a device of 1000 bytes."""
    events: list[Event] = [memory(5, allocated, allocated=allocated, reserved=allocated), *more]
    for number in range(int(1000 / gap)):
        at = number * gap
        events += [op("aten::mm", at, gap - 1), *launched("k", at + gap - 20, 20, number + 1)]
    return one_step(events, deviceProperties=[device(memory=1000)])


def test_a_host_that_cannot_keep_up_with_little_memory_in_use() -> None:
    advice = finding(detect(context(scene(100, BACKWARD))))
    assert advice.measured == pytest.approx(10)
    assert advice.gain_us is None
    assert "convergence" in advice.text
    assert "latency" in finding(detect(context(scene(100)))).text


@pytest.mark.parametrize(("allocated", "speaks"), [(499, True), (500, False)])
def test_the_threshold(allocated: int, speaks: bool) -> None:
    assert (detect(context(scene(allocated))) is not None) is speaks


def test_where_the_device_is_busy_more_work_brings_nothing() -> None:
    assert detect(context(scene(100, gap=20))) is None


def test_where_data_is_what_is_missing_larger_batches_bring_nothing() -> None:
    loading = [op(LOADER, 0, 79), op(LOADER, 100, 879)]
    events = [
        memory(1, 10, allocated=10, reserved=10),
        *loading,
        op("aten::mm", 80, 20),
        *launched("k", 90, 5, 1),
        op("aten::mm", 980, 20),
        *launched("k", 995, 5, 2),
    ]
    assert detect(context(one_step(events, deviceProperties=[device(memory=1000)]))) is None


def test_without_memory_there_is_no_finding() -> None:
    events = launched("k", 500, 20, 1)
    assert detect(context(one_step(events, deviceProperties=[device()]))) is None
