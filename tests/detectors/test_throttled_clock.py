"""A clock that drops under load, and what looks alike."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.detectors.scenes import context, finding
from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import Event, kernel, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import run_detectors
from torch_tb_profiler.detectors.throttled_clock import detect
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.trace.model import Trace

BUSY = [kernel("gemm", 0, 1000)]
HIGH, LOW = 1980.0, 1200.0


EVERY = 100


def clocked(
    *clock: float, events: list[Event] = BUSY, others: Mapping[str, float] | None = None
) -> Trace:
    """A step of 1 ms with samples of the clock every 100 µs, and constant ones of others."""
    samples = [
        Sample("GPU 0", "SM clock", "MHz", at * EVERY, value) for at, value in enumerate(clock)
    ]
    units = {"power": "W", "power limit": "W", "temperature": "°C"}
    samples += [
        Sample("GPU 0", name, units.get(name, "%"), at, value)
        for name, value in (others or {}).items()
        for at in range(0, 1000, EVERY)
    ]
    return recorded([step(1, 0, 1000), *events], samples=samples)


def test_a_drop_under_load_is_reported_with_its_time() -> None:
    advice = finding(detect(context(clocked(*[HIGH] * 6, *[LOW] * 4))))
    assert advice.measured == pytest.approx(40)
    assert advice.variant == "default"
    assert "cause is not recorded" in advice.text
    assert "power and temperature were not sampled" in advice.text
    (row,) = advice.rows
    assert row["reached_mhz"] == HIGH
    assert row["throttled_mhz"] == LOW
    assert row["throttled_us_per_step"] == 400
    assert advice.at_stake_us == pytest.approx(400 * (1 - LOW / HIGH))
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (600_000, 1_000_000)


def test_a_lower_clock_in_little_work_is_no_finding() -> None:
    """At half the clock, 10 µs of work cost 0.5 % of the step, and 90 µs 4.5 %."""
    low = [HIGH / 2 if at == 5 else HIGH for at in range(10)]

    def result(work_us: float) -> Finding | None:
        events = [kernel("gemm", at, work_us) for at in (100, 500)]
        return detect(context(clocked(*low, events=events)))

    assert result(10) is None
    assert finding(result(90)).at_stake_us == pytest.approx(45)


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        ({"power": 399.0, "power limit": 400.0}, "power"),
        ({"power": 300.0, "power limit": 400.0, "temperature": 60.0}, "default"),
        ({"power": 700.0}, "default"),
        ({"temperature": 88.0, "power": 399.0, "power limit": 400.0}, "heat"),
        ({"throttled by power": 100.0}, "power"),
    ],
)
def test_a_cause_is_named_where_samples_say_so(others: dict[str, float], cause: str) -> None:
    trace = clocked(*[HIGH] * 6, *[LOW] * 4, others=others)
    assert finding(detect(context(trace))).variant == cause


def test_the_reasons_of_the_driver_are_said_once() -> None:
    trace = clocked(*[HIGH] * 6, *[LOW] * 4, others={"throttled by heat": 100.0})
    assert detect(context(trace)) is None
    assert "gpu_throttled_heat" not in {
        note.code for note in run_detectors(trace, Selection()).notes
    }


@pytest.mark.parametrize(
    "clock",
    [
        [HIGH] * 10,
        [HIGH, 1900, HIGH, 1850] * 2,  # boost clocks vary
        [LOW] * 10,  # low from the start: what it could reach is not known
        [*[LOW] * 6, *[HIGH] * 4],  # rises
        [300, 900, 1500, *[HIGH] * 7],
        [*[HIGH] * 9, LOW],  # a tenth of the time is not above the threshold
    ],
    ids=["steady", "boost", "low", "rises", "ramp", "short"],
)
def test_what_looks_alike_is_none(clock: list[float]) -> None:
    assert detect(context(clocked(*clock))) is None


def test_a_clock_that_drops_while_idle_and_rises_again_is_none() -> None:
    events = [kernel("gemm", 0, 300), kernel("gemm", 700, 300)]
    clock = [HIGH, HIGH, HIGH, 800, 300, 300, 300, 600, HIGH, HIGH]
    assert detect(context(clocked(*clock, events=events))) is None


def test_without_samples_of_the_clock_the_check_is_inconclusive() -> None:
    assert detect(context(recorded([step(1, 0, 1000), *BUSY]))) is None


def test_a_gpu_that_gets_hot_only_later_is_not_throttled_by_heat() -> None:
    heat = [Sample("GPU 0", "temperature", "°C", 100 * at, 60.0 + 3 * at) for at in range(10)]
    clock = [
        Sample("GPU 0", "SM clock", "MHz", 100 * at, LOW if at > 5 else HIGH) for at in range(10)
    ]
    advice = finding(detect(context(recorded([step(1, 0, 1000), *BUSY], samples=[*heat, *clock]))))
    assert advice.variant == "default"
    assert "at most 87 °C" in advice.text
