"""Counters of devices, from events and samples, as one; and what damage leaves of them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import kernel
from torch_tb_profiler.analysis.measured.counters import counters_of_role, device_counters
from torch_tb_profiler.analysis.measured.energy import window_energy
from torch_tb_profiler.analysis.measured.work import table_means
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace


def counted(*counters: dict[str, Any]) -> Trace:
    """A Kineto file with a kernel on GPU 1 and counter events."""
    work = {"args": {"device": 1, "stream": 7}, "cat": "kernel", "name": "k", "pid": 1, "tid": 7}
    events = [{"ph": "X", "ts": 0, "dur": 500, **work}]
    events += [{"ph": "C", **each} for each in counters]
    data = json.dumps({"schemaVersion": 1, "traceEvents": events})
    return build_trace(import_trace([data.encode()], name="a.pt.trace.json"))


def event(name: str, at: float, value: object, *, pid: object = "GPU 1 Counters") -> dict[str, Any]:
    return {"name": name, "pid": pid, "ts": at, "args": {"": value}}


def test_events_and_samples_of_a_device_are_one_list_in_order() -> None:
    trace = counted(
        event("Power (W)", 10, 300), event("vendor thing", 10, 1), event("SM Active (%)", 10, 50)
    )
    listed = [(each.device, each.series.metric, each.role) for each in device_counters(trace)]
    assert listed == [
        (1, "SM Active", "sm_active"), (1, "Power", "power"), (1, "vendor thing", None),
    ]  # fmt: skip
    samples = [Sample("GPU 2", "power", "W", 5, 7), Sample("host", "CPU user", "%", 5, 7)]
    sampled = recorded([kernel("k", 0, 10)], samples=samples)
    assert [(each.device, each.role) for each in device_counters(sampled)] == [(2, "power")]


def test_of_two_counters_of_a_role_the_one_that_covers_more_counts() -> None:
    cupti = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
    few = [event("SM Active (%)", at, 10) for at in (100, 200)]
    many = [event(cupti, at, 90) for at in range(100, 600, 100)]
    assert counters_of_role(counted(*few, *many), "sm_active")[1].series.value[0] == 90
    assert counters_of_role(counted(*few, *many[:2]), "sm_active")[1].series.value[0] == 10


def test_samples_of_another_clock_measure_nothing() -> None:
    trace = recorded([kernel("k", 0, 10)], samples=[Sample("GPU 0", "power", "W", 5, 7)])
    trace.quality.add("samples_own_clock", 1)
    assert device_counters(trace) == ()


@pytest.mark.parametrize(
    "values",
    [
        [1e308, -1e308, 5.0], [5.0, float("nan"), float("inf")], ["x", None, [1]], [10**400, 5, 5],
        [True, False, {}],
    ],
)  # fmt: skip
def test_impossible_values_leave_figures_finite(values: list[object]) -> None:
    names = ("SM Active (%)", "DRAM BW (%)", "Power (W)")
    trace = counted(
        *(event(name, 100 * at, value) for name in names for at, value in enumerate(values, 1))
    )
    rows = np.arange(trace.device_work.height)
    for means in table_means(trace, rows, rows, len(rows)).values():
        assert not np.isinf(means.mean).any()
    for energy in window_energy(trace, np.array([0]), np.array([10**6])).values():
        assert not np.isinf(energy.joules).any()


@pytest.mark.parametrize("times", [[0, 0, 0], [5, 1, 3], [-10, 0, 10], [0, 1e12, 2e12]])
def test_odd_times_leave_figures_finite(times: list[float]) -> None:
    trace = counted(*(event("SM Active (%)", at, 50) for at in times))
    rows = np.arange(trace.device_work.height)
    for means in table_means(trace, rows, rows, len(rows)).values():
        assert all(math.isnan(mean) or mean == pytest.approx(50) for mean in means.mean)
        assert (means.covered_ns <= means.work_ns).all()
