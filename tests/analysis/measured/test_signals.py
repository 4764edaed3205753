"""Integrals over windows, against sums over every nanosecond."""

from __future__ import annotations

import numpy as np
import pytest

from torch_tb_profiler.analysis.measured.signals import (
    Signal,
    empty_signal,
    sampled_signal,
    window_sums,
)
from torch_tb_profiler.analysis.recording.samples import series_of
from torch_tb_profiler.trace.columns import Float64, Int64

SPAN = 400


def random_signal(random: np.random.Generator) -> Signal:
    """Intervals with and without gaps between them."""
    edges = np.unique(random.integers(0, SPAN, random.integers(2, 40)))
    kept = random.random(len(edges) - 1) < 0.7
    start, end = edges[:-1][kept], edges[1:][kept]
    return Signal(start, end, random.normal(50, 20, len(start)))


def at_every_moment(signal: Signal) -> tuple[Float64, Int64]:
    """Per nanosecond the value, NaN for none, and the number of the interval, -1 for none."""
    value, row = np.full(SPAN, np.nan), np.full(SPAN, -1)
    for number, (start, end, level) in enumerate(zip(*signal, strict=True)):
        value[start:end], row[start:end] = level, number
    return value, row


@pytest.mark.parametrize("seed", range(20))
def test_sums_are_those_of_every_moment(seed: int) -> None:
    random = np.random.default_rng(seed)
    signal = random_signal(random)
    value, row = at_every_moment(signal)
    start = random.integers(0, SPAN, 200)
    end = np.minimum(start + random.integers(0, SPAN, 200) // random.integers(1, 40, 200), SPAN)
    sums = window_sums(signal, start, end)
    for number, (begin, finish) in enumerate(zip(start, end, strict=True)):
        inside = row[begin:finish]
        covered = np.count_nonzero(inside >= 0)
        assert sums.covered_ns[number] == covered
        assert sums.samples[number] == len(set(inside[inside >= 0].tolist()))
        assert sums.integral[number] == pytest.approx(np.nansum(value[begin:finish]), abs=1e-9)
        if covered:
            assert sums.mean[number] == pytest.approx(np.nanmean(value[begin:finish]))
            assert sums.first_ns[number] == np.count_nonzero(inside == sums.first[number])
            is_several = sums.last[number] > sums.first[number]
            last = np.count_nonzero(inside == sums.last[number]) if is_several else 0
            assert sums.last_ns[number] == last
        else:
            assert np.isnan(sums.mean[number])


def test_a_signal_without_values_covers_nothing() -> None:
    sums = window_sums(empty_signal(), np.array([0]), np.array([10]))
    assert (sums.covered_ns.tolist(), sums.samples.tolist()) == ([0], [0])
    assert np.isnan(sums.mean).all()


def test_short_windows_late_in_a_long_recording_are_exact() -> None:
    hour = 3_600 * 10**9
    start = np.arange(0, hour, 10**7)
    signal = Signal(start, start + 10**7, np.where(start == start[-1], 1.0, 1e9))
    sums = window_sums(signal, np.array([hour - 1000]), np.array([hour]))
    assert sums.mean.tolist() == [1.0]


def test_a_mean_holds_before_its_time_and_a_value_after_it() -> None:
    time_ns, value = np.array([100, 200, 400]), np.array([1.0, 2.0, 3.0])
    mean = sampled_signal(series_of(("GPU 0", "SMs Active", "%"), time_ns, value))
    assert mean.start_ns.tolist() == [-50, 100, 200]
    assert mean.end_ns.tolist() == [100, 200, 400]
    held = sampled_signal(series_of(("GPU 0", "power", "W"), time_ns, value))
    assert held.start_ns.tolist() == [100, 200, 400]
    assert held.end_ns.tolist() == [200, 400, 550]


def test_a_long_time_without_samples_is_not_covered() -> None:
    time_ns = np.array([*range(0, 100, 10), 1000])
    held = sampled_signal(series_of(("GPU 0", "power", "W"), time_ns, np.ones(11)))
    assert held.end_ns[-2:].tolist() == [100, 1010]
    mean = sampled_signal(series_of(("GPU 0", "SM Active", "%"), time_ns, np.ones(11)))
    assert mean.start_ns[-1] == 990


def test_one_sample_has_no_interval() -> None:
    for metric, unit in (("SM Active", "%"), ("power", "W")):
        series = series_of(("GPU 0", metric, unit), np.array([5]), np.array([1.0]))
        assert not len(sampled_signal(series).value)
