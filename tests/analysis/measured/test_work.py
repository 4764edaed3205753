"""Means over the work of groups, against sums over every microsecond; and a planted recording."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel
from torch_tb_profiler.analysis.measured.work import GroupMeans, group_means
from torch_tb_profiler.trace.model import Trace

METRIC = ("SMs Active", "%")


def sampled(kernels: list[tuple[str, int, int]], samples: list[tuple[int, float]]) -> Trace:
    """Kernels (name, start, duration) and samples of SM activity, in µs."""
    rows = [Sample("GPU 0", *METRIC, at, value) for at, value in samples]
    return recorded([kernel(*each) for each in kernels], samples=rows)


def by_name(trace: Trace) -> dict[str, tuple[GroupMeans, int]]:
    """The means of SM activity of each kernel name, and its number among the groups."""
    codes, group = np.unique(trace.device_work["name_code"].to_numpy(), return_inverse=True)
    rows = np.arange(trace.device_work.height)
    means = group_means(trace, "sm_active", rows, group, len(codes))
    assert means is not None
    return {trace.text(code) or "": (means, number) for number, code in enumerate(codes.tolist())}


def test_planted_activities_come_back_per_kernel() -> None:
    samples = [(100, 80.0), (200, 80.0), (300, 20.0), (400, 20.0), (500, 50.0)]
    trace = sampled([("busy", 0, 200), ("sparse", 200, 200), ("late", 700, 50)], samples)
    means = by_name(trace)
    for name, mean, covered, own, count in (
        ("busy", 80.0, 100.0, 100.0, 2),
        ("sparse", 20.0, 100.0, 100.0, 2),
    ):
        of, row = means[name]
        assert of.mean[row] == pytest.approx(mean)
        assert (of.covered_pct[row], of.own_pct[row], of.samples[row]) == (covered, own, count)
    of, row = means["late"]
    assert np.isnan(of.mean[row])
    assert np.isnan(of.own_pct[row])
    assert (of.covered_pct[row], of.samples[row]) == (0.0, 0)


def test_short_kernels_share_a_sample_unless_they_fill_it_together() -> None:
    samples = [(100, 60.0), (200, 60.0), (300, 60.0)]
    few = [("few", 10, 20), ("few", 110, 20)]
    many = [("many", start, 20) for start in (210, 235, 260)]
    means = by_name(sampled(few + many, samples))
    of, row = means["few"]
    assert (of.mean[row], of.own_pct[row], of.samples[row]) == (60.0, 0.0, 2)
    of, row = means["many"]
    assert (of.mean[row], of.own_pct[row], of.samples[row]) == (60.0, 100.0, 1)


@pytest.mark.parametrize("seed", range(8))
def test_means_are_those_of_every_moment(seed: int) -> None:
    random = np.random.default_rng(seed)
    ends = np.cumsum(random.integers(5, 15, 30))
    values = random.uniform(0, 100, 30)
    level, sample = np.full(600, np.nan), np.full(600, -1)
    first = int(ends[0] - np.median(np.diff(ends)))
    for number, (start, end) in enumerate(zip([first, *ends[:-1]], ends, strict=True)):
        level[max(start, 0) : end], sample[max(start, 0) : end] = values[number], number
    kernels, at = [], 0
    while at < 500:
        duration = int(random.integers(1, 30))
        kernels.append((f"k{random.integers(3)}", at, duration))
        at += duration + int(random.integers(0, 10))
    trace = sampled(kernels, list(zip(ends.tolist(), values.tolist(), strict=True)))
    for name, (of, row) in by_name(trace).items():
        inside = np.zeros(600, np.bool_)
        for each, start, duration in kernels:
            inside[start : start + duration] |= each == name
        covered = inside & (sample >= 0)
        assert of.covered_ns[row] == np.count_nonzero(covered) * 1000
        assert of.work_ns[row] == np.count_nonzero(inside) * 1000
        assert of.mean[row] == pytest.approx(level[covered].mean())
        assert of.samples[row] == len(set(sample[covered].tolist()))
        lengths = np.diff(np.append(first, ends))
        own = sum(
            count
            for number, count in zip(*np.unique(sample[covered], return_counts=True), strict=True)
            if 2 * count >= lengths[number]
        )
        assert of.own_ns[row] == own * 1000


def test_a_device_has_its_own_counters() -> None:
    rows = [Sample("GPU 1", *METRIC, at, 70.0) for at in (100, 200)]
    trace = recorded([kernel("a", 0, 100), kernel("a", 0, 100, device=1)], samples=rows)
    of, row = by_name(trace)["a"]
    assert (of.mean[row], of.covered_ns[row], of.work_ns[row]) == (70.0, 100_000, 200_000)


def test_without_counters_there_is_nothing() -> None:
    trace = recorded([kernel("a", 0, 100)])
    assert group_means(trace, "sm_active", np.array([0]), np.array([0]), 1) is None
