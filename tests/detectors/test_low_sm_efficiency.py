"""Kernels that fill few multiprocessors."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import awaited, context, finding, launched, one_step
from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import Event, kernel, op, step
from torch_tb_profiler.detectors.low_sm_efficiency import detect
from torch_tb_profiler.trace.model import Trace

SCENE = awaited(
    [
        *launched("a", 100, 300, 1, launch_at=1, blocks=0.1),
        *launched("b", 400, 100, 2, launch_at=3, blocks=0.5),
    ],
    at=60,
)


def test_small_launches_are_advised() -> None:
    advice = finding(detect(context(one_step(SCENE))))
    assert advice.measured == pytest.approx((300 * 10 + 100 * 50) / 400)
    assert advice.gain_us == pytest.approx(300 * (1 - 10 / 50) / 2)
    assert "is in a." in advice.text
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (100_000, 400_000)


def test_inference_is_advised_more_than_larger_batches() -> None:
    inference = finding(detect(context(one_step(SCENE))))
    assert inference.variant == "inference"
    training = [*SCENE, op("autograd::engine::evaluate_function: AddBackward0", 50, 5)]
    assert "Larger batches" in finding(detect(context(one_step(training)))).text


def test_short_kernels_have_little_to_do_each() -> None:
    events: list[Event] = []
    for number in range(100):
        where = {"launch_at": 2 * number, "blocks": 0.01}
        events += launched("short", 300 + 5 * number, 5, number + 1, **where)
    advice = finding(detect(context(one_step(events))))
    assert advice.variant == "short"
    assert advice.gain_us is None
    assert "limits the step" not in advice.text


def test_a_small_part_of_the_step_is_not() -> None:
    assert detect(context(one_step(SCENE, length=5000))) is None


def test_communication_does_not_count() -> None:
    events = [
        kernel("a", 0, 300, blocks=2.0),
        kernel("ncclDevKernel_AllReduce(x)", 300, 600, blocks=0.1, stream=9),
    ]
    assert detect(context(one_step(events))) is None


def test_kernels_that_run_together_fill_together() -> None:
    events = [kernel(str(i), 0, 100, blocks=0.3, stream=i) for i in range(2)]
    assert detect(context(one_step(events))) is None


def test_without_the_number_of_blocks_there_is_no_finding() -> None:
    events = [kernel("a", 0, 300, blocks=0.1), kernel("b", 300, 100)]
    assert detect(context(one_step(events))) is None


def measured(
    events: list[Event], *values: tuple[float, float], metric: str = "SMs Active"
) -> Trace:
    """A step with samples of what the hardware counted, at times in µs."""
    samples = [Sample("GPU 0", metric, "%", at, value) for at, value in values]
    return recorded([step(1, 0, 1000), *events], samples=samples)


LOW = ((100, 0.0), (200, 20.0), (300, 20.0), (400, 20.0), (500, 20.0))
HIGH = tuple((at, 95.0) for at in range(100, 1100, 100))


def test_measured_activity_replaces_the_estimate() -> None:
    assert detect(context(measured(SCENE, *HIGH))) is None
    full = awaited(launched("a", 100, 400, 1, launch_at=1, blocks=3.0), at=60)
    assert detect(context(measured(full))) is None
    advice = finding(detect(context(measured(full, *LOW))))
    assert advice.measured == pytest.approx(20)
    assert "measured by hardware counters" in advice.text
    assert advice.source["filter"] == "sm_active_pct<50"
    assert advice.rows[0]["filled_pct"] is None
    assert advice.rows[0]["sm_active_pct"] == pytest.approx(20)
    assert advice.gain_us == pytest.approx(400 * (1 - 20 / 50) / 2)


def test_recordings_without_blocks_are_measured() -> None:
    events = awaited(launched("a", 100, 400, 1, launch_at=1), at=60)
    assert detect(context(one_step(events))) is None
    assert "measured" in finding(detect(context(measured(events, *LOW)))).text


def test_of_measured_kernels_those_that_leave_sms_idle_are_named() -> None:
    events = awaited(
        [
            *launched("full", 100, 100, 1, launch_at=1, blocks=3.0),
            *launched("sparse", 200, 300, 2, launch_at=3, blocks=3.0),
        ],
        at=60,
    )
    values = ((100, 0.0), (200, 100.0), (300, 10.0), (400, 10.0), (500, 10.0))
    advice = finding(detect(context(measured(events, *values))))
    assert advice.measured == pytest.approx((100 + 3 * 10) / 4)
    assert "is in sparse." in advice.text
    assert advice.gain_us == pytest.approx(300 * (1 - 10 / 50) / 2)


def test_idle_time_inside_samples_is_taken_off() -> None:
    events = [event for at in (0, 200, 400, 600) for event in launched("a", at + 20, 120, at + 1)]
    values = [(at, 60.0) for at in range(200, 1000, 200)]
    # 60 % of 200 µs is all of the SMs during the 120 µs in which the kernel runs.
    assert detect(context(measured(events, *values))) is None


def test_samples_that_mostly_show_idle_time_leave_the_estimate() -> None:
    values = [(at, 4.0) for at in (0, 1000)]
    advice = finding(detect(context(measured(SCENE, *values))))
    assert "estimated from the number of blocks" in advice.text


def test_communication_in_a_sample_is_not_measured() -> None:
    events = [
        kernel("a", 0, 400),
        kernel("ncclDevKernel_AllReduce(x)", 0, 400, stream=9),
    ]
    assert detect(context(measured(events, *LOW))) is None
