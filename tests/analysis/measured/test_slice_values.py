"""Counters of single kernels and of ranges."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel, slice_event
from torch_tb_profiler.analysis.measured.slice_values import range_signals, work_values
from torch_tb_profiler.analysis.measured.work import group_means
from torch_tb_profiler.trace.model import Trace

ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"


def ranged(*rows: tuple[float, float, float]) -> Trace:
    """Ranges (start, duration, SM activity) of CUPTI's range profiler around kernels."""
    ranges = [
        slice_event("cuda_profiler_range", f"range {number}", at, dur, pid=0, tid=9, device=0)
        for number, (at, dur, _) in enumerate(rows)
    ]
    arguments = [(number, ACTIVE, value) for number, (_, _, value) in enumerate(rows)]
    events = [*ranges, kernel("a", 0, 100), kernel("b", 100, 50)]
    return recorded(events, arguments=arguments)


def test_values_of_kernels_are_in_the_unit_of_their_role() -> None:
    events = [kernel("b", 500, 20, stream=8), kernel("a", 0, 100), kernel("a", 200, 300)]
    arguments = [
        (1, "FETCH_SIZE", 4.0), (2, "FETCH_SIZE", 8.0), (1, "MfmaUtil", 30.0),
        (0, "OccupancyPercent", 55.0), (0, "queued", 7.0), (1, "SQ_WAVES", 64.0),
    ]  # fmt: skip
    trace = recorded(events, arguments=arguments)
    starts = trace.device_work["start_ns"].to_list()
    values = work_values(trace)
    assert set(values) == {"dram_read_bytes", "tensor_active", "occupancy", "waves"}
    read = dict(zip(starts, values["dram_read_bytes"].tolist(), strict=True))
    assert (read[0], read[200_000]) == (4096, 8192)
    assert np.isnan(read[500_000])


def test_values_of_a_kernel_replace_samples_and_are_its_own() -> None:
    events = [kernel("a", 0, 100), kernel("b", 100, 300)]
    samples = [Sample("GPU 0", "SMs Active", "%", at, 50.0) for at in (1000, 2000)]
    trace = recorded(events, samples=samples, arguments=[(0, ACTIVE, 80.0)])
    group = np.arange(2)
    means = group_means(trace, "sm_active", group, group, 2)
    assert means is not None
    assert means.mean.tolist() == [80, 50]
    assert means.own_pct.tolist() == [100, 0]
    assert means.samples.tolist() == [1, 1]


def test_ranges_are_windows_of_their_device() -> None:
    trace = ranged((0, 100, 80.0), (100, 100, 30.0))
    signal = range_signals(trace)[0, "sm_active"]
    assert signal.value.tolist() == [80, 30]
    group = np.arange(2)
    means = group_means(trace, "sm_active", group, group, 2)
    assert means is not None
    assert means.mean.tolist() == [80, 30]


def test_ranges_that_overlap_do_not_count_twice() -> None:
    signal = range_signals(ranged((0, 100, 80.0), (50, 100, 30.0), (20, 30, 9.0)))[0, "sm_active"]
    assert (signal.start_ns.tolist(), signal.end_ns.tolist()) == ([0, 100_000], [100_000, 150_000])


@pytest.mark.parametrize("arguments", [[], [(0, "queued", 1.0)], [(0, ACTIVE, float("inf"))]])
def test_other_arguments_measure_nothing(arguments: list[tuple[int, str, float]]) -> None:
    trace = recorded([kernel("a", 0, 100)], arguments=arguments)
    assert work_values(trace) == {}
    assert range_signals(trace) == {}
