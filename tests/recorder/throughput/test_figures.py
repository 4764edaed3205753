"""Figures of steps compared with numpy and the statistics module; cases of the warm-up rule."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from torch_tb_profiler.recorder.throughput.figures import (
    SETTLED_STEPS,
    UNKNOWN,
    Distribution,
    StepColumns,
    Throughput,
    count_warmup_steps,
    step_figures,
)

MS = 1_000_000


def columns(*rows: tuple[int, int, int]) -> StepColumns:
    """Consecutive steps of (duration, reader, samples)."""
    created, at = StepColumns(), 1000
    for duration, reader, samples in rows:
        created.add(at, at + duration, reader, samples)
        at += duration
    return created


def test_figures_agree_with_numpy() -> None:
    numbers = np.random.default_rng(3)
    durations = numbers.integers(1 * MS, 30 * MS, 57)
    readers = durations // numbers.integers(2, 9, 57)
    samples = numbers.integers(1, 64, 57)
    rows = zip(durations.tolist(), readers.tolist(), samples.tolist(), strict=True)
    figures = step_figures(columns(*rows))
    assert figures is not None
    us = durations / 1e3
    batch = figures.batch_cost_us
    result = [batch.mean, batch.max, batch.min, batch.median, batch.p95]
    assert result == pytest.approx(
        [us.mean(), us.max(), us.min(), statistics.median(us), np.percentile(us, 95)]
    )
    rates = samples / durations * 1e9
    assert figures.samples_per_s is not None
    assert figures.samples_per_s.p95 == pytest.approx(np.percentile(rates, 95))
    assert figures.samples_per_s.mean == pytest.approx(samples.sum() / durations.sum() * 1e9)
    assert figures.reader_ratio_pct == pytest.approx(readers.sum() / durations.sum() * 100)
    assert (figures.steps, figures.samples) == (57, samples.sum())


def test_unknown_values_are_not_zero() -> None:
    figures = step_figures(columns((10 * MS, UNKNOWN, UNKNOWN), (20 * MS, UNKNOWN, UNKNOWN)))
    assert figures is not None
    assert figures.reader_cost_us is None
    assert figures.reader_ratio_pct is None
    assert figures.samples_per_s is None
    assert figures.samples is None
    assert figures.steps_per_s is not None
    assert figures.steps_per_s.mean == pytest.approx(2 / 0.03)


def test_steps_with_unknown_samples_are_excluded_from_sample_rates() -> None:
    figures = step_figures(columns((10 * MS, 0, 8), (90 * MS, 0, UNKNOWN)))
    assert figures is not None
    assert figures.samples_per_s is not None
    assert figures.samples_per_s.mean == pytest.approx(800)


def test_without_steps_there_are_no_figures() -> None:
    assert step_figures(StepColumns()) is None


def test_steps_of_zero_duration_have_no_rate() -> None:
    figures = step_figures(columns((0, 0, 4), (0, 0, 4)))
    assert figures is not None
    assert figures.steps_per_s is None
    assert figures.batch_cost_us == Distribution(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("durations", "expected"),
    [
        ([], 0),
        ([5], 1),
        ([5] * 12, 1),
        ([5] * 57, 5),
        ([5] * 1000, 10),
        ([900] + [5] * 11, 1),
        ([900, 800, 700] + [5] * 9, 3),  # torch.compile compiles anew for the second and third
        ([900, 5, 700] + [5] * 9, 1),  # it has settled: what comes later is no warm-up
        ([900] * 14 + [5] * 600, 14),
        ([9, 8, 7, 6, 5, 4, 3, 2, 1, 1, 1, 1], 2),
        ([1000] * 400 + [5] * 100_000, 10),
    ],
)
def test_count_of_warmup_steps(durations: list[int], expected: int) -> None:
    assert count_warmup_steps(durations) == expected
    assert count_warmup_steps(durations[:SETTLED_STEPS]) == expected, "the first ones are enough"


def test_the_summary_line_has_paddles_format() -> None:
    figures = step_figures(columns(*[(10 * MS, 2 * MS, 32)] * 9))
    line = str(Throughput(1, "", figures))
    assert line == (
        "reader_cost: 0.00200 s batch_cost: 0.01000 s ips: 3200 samples/s reader ratio: 20.0 % "
        "(9 steps after 1 step of warm-up)"
    )
    assert str(Throughput(1, "", None)) == "no step was timed after 1 step of warm-up"
