"""Energy against numpy's trapezoids over the raw samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel
from torch_tb_profiler.analysis.measured.energy import window_energy
from torch_tb_profiler.trace.model import Trace

US, JOULE = 1000, 1e9


def powered(samples: list[tuple[float, float]]) -> Trace:
    """A trace with samples of power at times in µs."""
    rows = [Sample("GPU 0", "power", "W", at, watts) for at, watts in samples]
    return recorded([kernel("k", 0, 1000)], samples=rows)


def test_the_whole_is_the_trapezoid_over_raw_samples() -> None:
    random = np.random.default_rng(3)
    at = np.cumsum(random.integers(5, 20, 60))
    watts = random.uniform(100, 700, 60)
    energy = window_energy(
        powered(list(zip(at.tolist(), watts.tolist(), strict=True))),
        np.array([0]),
        np.array([10**9]),
    )[0]
    assert energy.joules[0] == pytest.approx(np.trapezoid(watts, at * US) / JOULE)
    between = np.sum(np.abs(np.diff(watts)) / 2 * np.diff(at * US)) / JOULE
    assert energy.error_joules[0] == pytest.approx(between)
    assert energy.covered_ns[0] == (at[-1] - at[0]) * US
    assert energy.samples[0] == 60


def test_windows_are_interpolated_and_add_up() -> None:
    random = np.random.default_rng(4)
    at = np.cumsum(random.integers(5, 20, 60))
    watts = random.uniform(100, 700, 60)
    trace = powered(list(zip(at.tolist(), watts.tolist(), strict=True)))
    edges = np.sort(random.integers(at[0], at[-1], 12)) * US
    energy = window_energy(trace, edges[:-1], edges[1:])[0]
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        fine = np.arange(start, end + 1)
        raw = np.interp(fine, at * US, watts)
        assert energy.joules[number] * JOULE == pytest.approx(np.trapezoid(raw, fine), abs=1e-3)
    whole = window_energy(trace, edges[:1], edges[-1:])[0]
    assert energy.joules.sum() == pytest.approx(whole.joules[0])
    assert energy.error_joules.sum() == pytest.approx(whole.error_joules[0])


def test_only_the_time_between_samples_counts() -> None:
    trace = powered([(100, 500.0), (200, 500.0), (300, 500.0)])
    start, end = np.array([0, 250, 400]) * US, np.array([50, 900, 500]) * US
    energy = window_energy(trace, start, end)[0]
    assert np.isnan(energy.joules[[0, 2]]).all()
    assert energy.joules[1] == pytest.approx(500 * 50e-6)
    assert energy.covered_ns.tolist() == [0, 50 * US, 0]


def test_where_nothing_was_sampled_for_long_nothing_is_known() -> None:
    samples = [(float(at), 100.0) for at in range(0, 100, 10)] + [(5000, 100.0), (5010, 100.0)]
    energy = window_energy(powered(samples), np.array([0]), np.array([10**8]))[0]
    assert energy.covered_ns[0] == 100 * US
    assert energy.joules[0] == pytest.approx(100 * 100e-6)


@pytest.mark.parametrize("samples", [[], [(100, 500.0)]])
def test_less_than_two_samples_have_no_energy(samples: list[tuple[float, float]]) -> None:
    assert window_energy(powered(samples), np.array([0]), np.array([10**6])) == {}
