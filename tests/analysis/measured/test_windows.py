"""Means over windows of one and of several devices, against sums over every microsecond."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel
from torch_tb_profiler.analysis.measured.windows import mean_together, window_means

US = 1000
WORK = [kernel("k", 0, 500), kernel("k", 0, 500, device=1)]


def test_ten_windows_by_hand() -> None:
    random = np.random.default_rng(1)
    ends = np.arange(100, 1100, 100)
    values = random.uniform(0, 100, len(ends))
    level = np.repeat(values, 100)
    samples = [
        Sample("GPU 0", "SMs Active", "%", float(at), value)
        for at, value in zip(ends.tolist(), values.tolist(), strict=True)
    ]
    trace = recorded(WORK, samples=samples)
    edges = np.sort(random.choice(1000, 20, replace=False)).reshape(10, 2)
    means = window_means(trace, "sm_active", edges[:, 0] * US, edges[:, 1] * US, [0])
    together = mean_together(trace, "sm_active", edges[:, 0] * US, edges[:, 1] * US, 0)
    assert means is not None
    assert together is not None
    for row, (start, end) in enumerate(edges.tolist()):
        assert means.mean[row] == pytest.approx(level[start:end].mean())
        assert means.samples[row] == len(set(range(start // 100, (end - 1) // 100 + 1)))
        assert means.covered_pct[row] == 100
    inside = np.concatenate([np.arange(start, end) for start, end in edges.tolist()])
    assert together.mean == pytest.approx(level[inside].mean())
    assert together.covered_ns == len(inside) * US
    assert together.samples == len(set((inside // 100).tolist()))


def test_windows_without_samples_have_no_mean() -> None:
    trace = recorded(WORK, samples=[Sample("GPU 0", "SMs Active", "%", at, 9) for at in (100, 200)])
    means = window_means(trace, "sm_active", np.array([300]) * US, np.array([400]) * US, [0])
    assert means is not None
    assert np.isnan(means.mean[0])
    assert (means.samples[0], means.covered_pct[0]) == (0, 0)
    assert window_means(trace, "power", np.array([0]), np.array([1]), [0]) is None
    assert window_means(trace, "sm_active", np.array([0]), np.array([1]), [1]) is None


def test_devices_are_averaged() -> None:
    samples = [
        Sample(f"GPU {device}", "SMs Active", "%", at, value)
        for device, value in ((0, 80.0), (1, 20.0))
        for at in (100, 200)
    ]
    trace = recorded(WORK, samples=samples)
    start, end = np.array([0, 150]) * US, np.array([100, 300]) * US
    means = window_means(trace, "sm_active", start, end, [0, 1])
    assert means is not None
    assert means.mean.tolist() == [50, 50]
    assert means.covered_pct.tolist() == pytest.approx([100, 100 / 3])
    assert means.samples.tolist() == [2, 2]


def test_reads_and_writes_add_up_to_bandwidth() -> None:
    samples = [
        Sample("GPU 0", f"DRAM {kind} Throughput", "%", at, value)
        for kind, value in (("Read", 30.0), ("Write", 12.0))
        for at in (100, 200)
    ]
    trace = recorded(WORK, samples=samples)
    start, end = np.array([0]), np.array([200]) * US
    means = window_means(trace, "dram_bandwidth", start, end, [0])
    together = mean_together(trace, "dram_bandwidth", start, end, 0)
    assert means is not None
    assert together is not None
    assert (means.mean[0], together.mean) == (42, 42)
