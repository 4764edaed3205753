"""Low occupancy and what limits it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detectors.scenes import ELEMENTWISE, GEMM, awaited, context, finding, launched, one_step
from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import Event, kernel, op, step
from torch_tb_profiler.analysis.recording.launch_measures import size_product
from torch_tb_profiler.detectors.low_occupancy import detect, limiting_reason
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.model import Trace

PARAMETERS = entry("low_occupancy").parameters


def scene(name: str = ELEMENTWISE, dur: float = 200, **launch: Any) -> list[Event]:
    """A kernel with few warps and one with many, launched before the first of them runs."""
    events = [
        *launched(name, 100, dur, 1, launch_at=1, **launch),
        *launched("other_kernel", 100 + dur, 800, 2, launch_at=3, occupancy=80, blocks=4.0),
    ]
    return awaited(events, 60)


def test_the_gain_is_half_of_the_time_of_empty_multiprocessors() -> None:
    events = scene(occupancy=10, blocks=0.25)
    advice = finding(detect(context(one_step(events, length=2000))))
    assert advice.values["share"] == pytest.approx(20.0)
    assert advice.values["reason"] == "fewer blocks than SMs"
    assert advice.measured == pytest.approx(10.0)
    assert advice.gain_us == pytest.approx(200 * 0.75 / 2)
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (100_000, 300_000)


def test_kernels_that_take_the_time_of_starting_them_are_not() -> None:
    """What a language model runs for one token: many kernels of a block and 3 µs each."""
    tiny: list[Event] = []
    for number in range(100):
        where = {"launch_at": 2 * number, "occupancy": 2, "blocks": 0.01}
        tiny += launched(ELEMENTWISE, 300 + 3 * number, 3, number + 1, **where)
    assert detect(context(one_step(tiny))) is None


def test_unknown_kernels_and_small_parts_of_a_step_are_not_reported() -> None:
    assert detect(context(one_step(scene("nobody_knows_this", occupancy=10), length=2000))) is None
    assert detect(context(one_step(scene(occupancy=10, blocks=0.25), length=20_000))) is None


def test_inference_is_advised_more_than_larger_batches() -> None:
    events = scene(occupancy=10, blocks=0.25)
    inference = finding(detect(context(one_step(events, length=2000))))
    assert "latency" in inference.text
    training = [*events, op("autograd::engine::evaluate_function: AddBackward0", 50, 5)]
    advice = finding(detect(context(one_step(training, length=2000))))
    assert "Larger batches" in advice.text


def test_where_the_launch_is_missing_the_gain_is_unknown() -> None:
    events = [event for event in scene(occupancy=10, blocks=0.25) if event["cat"] == "kernel"]
    advice = finding(detect(context(one_step(events, length=2000))))
    assert advice.gain_us is None
    assert advice.at_stake_us == pytest.approx(75)


def test_other_limits_cost_an_unknown_amount() -> None:
    events = [kernel(ELEMENTWISE, 0, 200, occupancy=10, blocks=8.0, block=[32, 1, 1])]
    advice = finding(detect(context(one_step(events))))
    assert advice.gain_us is None
    assert advice.values["reason"] == "small blocks"


def test_matrix_products_rare_kernels_and_unknown_occupancy_are_not() -> None:
    assert detect(context(one_step([kernel(GEMM, 0, 200, occupancy=10)]))) is None
    rare = [kernel(ELEMENTWISE, 0, 20, occupancy=10), kernel("k", 100, 500, occupancy=90)]
    assert detect(context(one_step(rare))) is None
    assert detect(context(one_step([kernel(ELEMENTWISE, 0, 200)]))) is None


@pytest.mark.parametrize(
    ("launch", "threads", "expected"),
    [
        (("REGS", 0.5, 255, 0), 256, "fewer blocks than SMs"),
        (("REGS, SMEM", 2.0, 255, 0), 256, "registers and shared memory"),
        ((None, 2.0, 255, 0), 256, "registers"),
        ((None, 2.0, 32, 100_000), 256, "shared memory"),
        ((None, 2.0, 32, 0), 32, "small blocks"),
        ((None, None, None, None), None, "the launch shape"),
    ],
)
def test_what_limits_a_kernel(
    launch: tuple[str | None, float | None, int | None, int | None],
    threads: int | None,
    expected: str,
) -> None:
    assert limiting_reason(*launch, threads=threads, parameters=PARAMETERS) == expected


@pytest.mark.parametrize(("text", "threads"), [("[32, 4, 1]", 128), (None, None), ("x", None)])
def test_threads_of_a_block(text: str | None, threads: int | None) -> None:
    assert size_product(text) == threads


def measured(events: list[Event], value: float, every: float = 100) -> Trace:
    """The events in a step of 2 ms, with samples of the occupancy."""
    samples = [
        Sample("GPU 0", "Compute Warps in Flight", "%", every * number, value)
        for number in range(1, 1 + round(2000 / every))
    ]
    return recorded([step(1, 0, 2000), *events], samples=samples)


def test_measured_occupancy_replaces_the_estimate() -> None:
    assert detect(context(measured(scene(occupancy=10, blocks=0.25), 90.0))) is None
    advice = finding(detect(context(measured(scene(occupancy=90, blocks=0.25), 12.0))))
    assert advice.measured == pytest.approx(12)
    assert "a measured occupancy" in advice.text
    assert advice.source["filter"] == "measured_occupancy_pct<25"


def test_shared_samples_leave_the_estimate() -> None:
    advice = finding(detect(context(measured(scene(occupancy=10, blocks=0.25), 90.0, every=1000))))
    assert advice.measured == pytest.approx(10)
    assert "an estimated occupancy" in advice.text
