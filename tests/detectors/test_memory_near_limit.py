"""Memory close to the limit."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, device, finding, one_step
from tests.helpers.traces import kernel, memory, op
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors.memory_near_limit import detect
from torch_tb_profiler.views.memory.view import memory as memory_view

GPUS = [device(0, memory=1000), device(1, memory=2000)]


def test_every_device_near_its_own_limit_is_named() -> None:
    events = [
        kernel("k", 0, 10),
        memory(1, 10, address=1, allocated=901, reserved=950),
        memory(2, 10, address=2, device=1, allocated=1900, reserved=1950),
    ]
    advice = finding(detect(context(one_step(events, deviceProperties=GPUS))))
    assert advice.measured == pytest.approx(95.0)
    assert "GPU 0 and 1" in advice.note().text
    assert [row["device"] for row in advice.rows] == [1, 0]
    assert advice.spot is not None
    assert advice.spot.start_ns <= 2_000 <= advice.spot.end_ns


def test_the_peak_is_that_of_the_memory_view() -> None:
    """The first of equal ones; a request that failed and a total beyond sense are none."""
    oom = {**memory(2, 10, address=1, allocated=999), "name": "[OutOfMemory]"}
    events = [
        kernel("k", 0, 10),
        oom,
        memory(3, 10, address=1, allocated=2**62),
        memory(4, 10, address=2, allocated=950),
        memory(9, 10, address=3, allocated=950),
    ]
    trace = one_step(events, deviceProperties=GPUS)
    scene = context(trace)
    advice = finding(detect(scene))
    peaks = memory_view(trace, Selection()).tables["memory_peaks"].frame
    (row,) = advice.rows
    assert row["total_allocated_bytes"] == 950 == peaks["peak_allocated_bytes"][0]
    assert row["total_reserved_bytes"] is None
    assert advice.spot is not None
    peak_ns = advice.spot.end_ns - int(scene.step_ns / 100)
    assert peak_ns == peaks["peak_us"][0] * 1000 + trace.meta.start_ns == 4_000


def test_inference_is_not_advised_to_checkpoint_gradients() -> None:
    events = [kernel("k", 0, 10), memory(1, 10, address=1, allocated=950)]
    inference = finding(detect(context(one_step(events, deviceProperties=GPUS))))
    assert "checkpointing" not in inference.text
    training = [*events, op("autograd::engine::evaluate_function: AddBackward0", 20, 5)]
    advice = finding(detect(context(one_step(training, deviceProperties=GPUS))))
    assert "checkpointing" in advice.text


def test_below_the_threshold_host_memory_and_unknown_capacity_are_not() -> None:
    def is_fine(*events: dict[str, object], gpus: list[dict[str, object]]) -> bool:
        return detect(context(one_step(list(events), deviceProperties=gpus))) is None

    assert is_fine(memory(1, 10, address=1, allocated=900), gpus=GPUS)
    assert is_fine(memory(1, 10, address=1, device_type=0, allocated=10**12), gpus=GPUS)
    assert is_fine(memory(1, 10, address=1, allocated=10**12, device=5), gpus=GPUS)
    assert is_fine(memory(1, 10, address=1), gpus=GPUS)
