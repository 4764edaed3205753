"""What counters measured in the views, against the recording read by ``json``, per microsecond."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.helpers import rocprof
from tests.helpers.recorded import Sample, recorded
from tests.helpers.traces import annotation, call, frame, kernel, op, step
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.groups.view import groups
from torch_tb_profiler.views.iterations.view import iterations_view
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.measured_columns import MEASURED_COLUMNS, NO_COUNTERS
from torch_tb_profiler.views.modules.view import modules
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.phases.view import phases

KEYS = [column.key for column in MEASURED_COLUMNS]


@cache
def events(path: Path) -> list[dict[str, Any]]:
    """The events of a recording."""
    listed: list[dict[str, Any]] = json.loads(path.read_bytes())["traceEvents"]
    return listed


def per_us(path: Path, name: str) -> Float64:
    """The value of a counter in each microsecond: that of the sample at its end or after it."""
    level = np.full(4000, np.nan)
    before = 900
    for event in events(path):
        if event["ph"] == "C" and event["name"] == name:
            level[before : int(event["ts"])] = event["args"][""]
            before = int(event["ts"])
    return level


@pytest.fixture(scope="module")
def cuspy(corpus: Path) -> Path:
    return corpus / "torch_2_15" / "cuspy215.pt.trace.json"


@pytest.fixture(scope="module")
def read(cuspy: Path) -> Trace:
    return build_trace(import_trace([cuspy.read_bytes()], name=cuspy.name))


def test_kernels_and_operators_have_the_means_of_their_device_work(
    cuspy: Path, read: Trace
) -> None:
    active, bandwidth = per_us(cuspy, "SM Active (%)"), per_us(cuspy, "DRAM BW (%)")
    inside = np.concatenate(
        [
            np.arange(int(event["ts"]), int(event["ts"] + event["dur"]))
            for event in events(cuspy)
            if event.get("cat") == "kernel"
        ]
    )
    known = inside[~np.isnan(active[inside])]
    for table in (
        kernels(read, Selection()).tables["kernels"],
        operators(read, Selection()).tables["operators"],
    ):
        row = table.frame.row(0, named=True)
        assert row["sm_active_pct"] == pytest.approx(active[known].mean())
        assert row["dram_bandwidth_pct"] == pytest.approx(bandwidth[known].mean())
        assert row["counter_coverage_pct"] == pytest.approx(100 * len(known) / len(inside))
        fills = np.bincount(known // 100)
        assert row["counter_samples"] == np.count_nonzero(fills)
        assert row["own_samples_pct"] == pytest.approx(100 * fills[fills >= 50].sum() / len(known))


def test_iterations_have_means_and_energy(cuspy: Path, read: Trace) -> None:
    active = per_us(cuspy, "SM Active (%)")
    power = [
        (event["ts"], event["args"][""]) for event in events(cuspy) if event["name"] == "Power (W)"
    ]
    at, watts = np.array(power).T
    table = iterations_view(read, Selection()).tables["iterations"]
    for row in table.frame.iter_rows(named=True):
        start, end = row["start_us"], row["start_us"] + row["duration_us"]
        assert row["sm_active_pct"] == pytest.approx(np.nanmean(active[int(start) : int(end)]))
        inside = (at >= start) & (at <= end)
        joules = np.trapezoid(watts[inside], at[inside]) / 1e6
        assert row["energy_j"] == pytest.approx(joules)
    facts = {fact.key: fact.value for fact in overview(read, Selection()).facts}
    assert facts["energy_j"] == pytest.approx(np.trapezoid(watts, at) / 1e6)
    assert facts["energy_per_step_j"] == pytest.approx(0.7)
    assert facts["mean_power_w"] == pytest.approx(700)
    assert facts["sm_active_pct"] == pytest.approx(np.nanmean(active[1000:]))


PLANTED = [
    step(0, 0, 500),
    op("aten::outer", 0, 100),
    op("aten::mm", 10, 40),
    call("cudaLaunchKernel", 12, 5, corr=1),
    op("aten::add", 60, 20),
    call("cudaLaunchKernel", 62, 5, corr=2),
    kernel("gemm", 100, 200, corr=1),
    kernel("add", 300, 200, corr=2),
]
SAMPLES = [
    Sample("GPU 0", "SMs Active", "%", at, value)
    for at, value in ((100, 0.0), (200, 90.0), (300, 90.0), (400, 10.0), (500, 10.0))
]


def test_operators_have_what_is_nested_in_them() -> None:
    view = operators(recorded(PLANTED, samples=SAMPLES), Selection())
    active = dict(view.tables["operators"].frame.select("name", "sm_active_pct").rows())
    assert active == {"aten::outer": 50, "aten::mm": 90, "aten::add": 10}


def test_a_selection_counts_what_it_holds() -> None:
    events = [*PLANTED, step(1, 500, 500), op("aten::mm", 510, 40)]
    events += [call("cudaLaunchKernel", 512, 5, corr=3), kernel("gemm", 600, 100, corr=3)]
    samples = [*SAMPLES, Sample("GPU 0", "SMs Active", "%", 600, 0.0)]
    samples += [Sample("GPU 0", "SMs Active", "%", 700, 30.0)]
    trace = recorded(events, samples=samples)

    def of_gemm(selection: Selection) -> Any:
        rows = kernels(trace, selection).tables["kernels"].frame
        return rows.filter(pl.col("name") == "gemm")["sm_active_pct"][0]

    assert of_gemm(Selection()) == pytest.approx(70)
    assert of_gemm(Selection(steps="0")) == pytest.approx(90)
    assert of_gemm(Selection(steps="1")) == pytest.approx(30)


def test_without_counters_columns_are_empty_with_a_reason() -> None:
    trace = recorded(PLANTED)
    for table in (
        kernels(trace, Selection()).tables["kernels"],
        operators(trace, Selection()).tables["operators"],
    ):
        assert table.frame.select(KEYS).null_count().row(0) == (table.frame.height,) * len(KEYS)
        assert {table.null_reasons[key] for key in KEYS} == {NO_COUNTERS}
    steps = iterations_view(trace, Selection()).tables["iterations"]
    assert steps.frame["energy_j"].null_count() == steps.frame.height
    assert "power" in steps.null_reasons["energy_j"]
    assert modules(trace, Selection()).tables["modules"].frame.height == 0


def test_modules_and_groups_have_what_is_below_them() -> None:
    events = [
        step(0, 0, 500),
        frame("nn.Module: Net_0", 5, 90, python_id=1, module=0),
        frame("nn.Module: Linear_0", 8, 45, python_id=2, parent=1, module=1),
        frame("nn.Module: Add_0", 55, 30, python_id=3, parent=1, module=2),
        *PLANTED[2:],
    ]
    trace = recorded(events, samples=SAMPLES)
    expected = {"Net_0": 50, "Net_0/Linear_0": 90, "Net_0/Add_0": 10}
    for view, table in (
        (modules(trace, Selection()), "modules"),
        (groups(trace, Selection()), "groups"),
    ):
        frame_of = view.tables[table].frame
        assert dict(frame_of.select("path", "sm_active_pct").rows()) == expected, table
        samples = dict(frame_of.select("path", "counter_samples").rows())
        assert samples == {"Net_0": 4, "Net_0/Linear_0": 2, "Net_0/Add_0": 2}, table


def test_work_outside_of_modules_is_in_no_module() -> None:
    events = [frame("nn.Module: Net_0", 5, 45, python_id=1, module=0), *PLANTED[2:]]
    table = modules(recorded(events, samples=SAMPLES), Selection()).tables["modules"]
    active = dict(table.frame.select("kind", "sm_active_pct").rows())
    assert active["module"] == 90
    assert active["outside"] is None


def test_phases_have_the_work_that_they_launched() -> None:
    events = [*PLANTED, annotation("forward", 8, 45), annotation("backward", 55, 30)]
    frame_of = phases(recorded(events, samples=SAMPLES), Selection()).tables["phases"].frame
    active = dict(frame_of.select("phase", "sm_active_pct").rows())
    assert (active["step"], active["forward"], active["backward"]) == (50, 90, 10)
    assert active["dataloader"] is None


def test_rocprofs_counters_are_those_of_their_kernels() -> None:
    process = rocprof.training()
    process.counter_names = ("MfmaUtil", "OccupancyPercent")
    process.counters = [
        {"dispatch": dispatch["dispatch"], "counter": counter, "value": value}
        for dispatch in process.dispatches
        for counter, value in ((0, 10.0 + dispatch["kernel"]), (1, 40.0))
    ]
    data = json.dumps(rocprof.to_json([process])).encode()
    trace = build_trace(import_trace([data], name="x_results.json"))
    rows = kernels(trace, Selection()).tables["kernels"].frame
    assert sorted(rows["tensor_active_pct"].to_list()) == [10, 11]
    assert rows["measured_occupancy_pct"].to_list() == [40, 40]
    assert rows["own_samples_pct"].to_list() == [100, 100]
    assert rows["counter_samples"].to_list() == [2, 2]
    assert rows["sm_active_pct"].null_count() == 2
