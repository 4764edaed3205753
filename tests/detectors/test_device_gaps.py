"""Idle time between pieces of work that were launched already."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, launched, one_step
from tests.helpers.traces import Event, call, op
from torch_tb_profiler.detectors.device_gaps import detect


def scene(gap: float) -> list[Event]:
    """Ten kernels of 50 us, all launched in the first 21 us, a gap apart."""
    return [
        event
        for number in range(10)
        for event in launched("k", 50 + number * (50 + gap), 50, number + 1, launch_at=2 * number)
    ]


def test_gaps_after_the_launch_are_reported_without_a_gain() -> None:
    advice = finding(detect(context(one_step(scene(20), length=730))))
    # From the first launch's return to its kernel, and nine gaps; the host is late for 1 us.
    assert advice.measured == pytest.approx((49 + 9 * 20) / 730 * 100)
    assert advice.gain_us is None
    assert advice.spot is not None
    assert advice.variant == "default"


def test_graphs_have_a_text_of_their_own() -> None:
    graph = call("cudaGraphLaunch", 700, 5, corr=99)
    advice = finding(detect(context(one_step([*scene(20), graph], length=730))))
    assert advice.variant == "graphs"


def test_compile_is_not_proposed_to_a_compiled_program() -> None:
    region = op("Torch-Compiled Region: 0/0", 700, 5)
    advice = finding(detect(context(one_step([*scene(20), region], length=730))))
    assert advice.variant == "compiled"
    assert "torch.compile" not in advice.text


def test_short_gaps_late_launches_and_unknown_ones_are_not() -> None:
    assert detect(context(one_step(scene(2), length=730))) is None
    late = [event for n in range(7) for event in launched("k", 5 + 100 * n, 50, n + 1)]
    assert detect(context(one_step(late, length=730))) is None
    unknown = [event for event in scene(20) if event["cat"] != "cuda_runtime"]
    assert detect(context(one_step(unknown, length=730))) is None
