"""Points of steps: by hand-made traces whose figures are counted by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers.traces import call, kernel, op, step, trace
from torch_tb_profiler.reports.scalars.values import Scalar, ScalarSeries
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

BASE_NS = 1_700_000_000 * 10**9
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"


def values_of(*traces: Trace, recorded_s: float = 7.0) -> ScalarSeries:
    points = ScalarSeries()
    for number, each in enumerate(traces):
        points.add(each, number, recorded_s)
    return points


def curve(points: ScalarSeries, name: str) -> list[tuple[int, float]]:
    return [(each.step, each.value) for each in points.scalars() if each.tag == f"profiler/{name}"]


def two_steps(**header: Any) -> Trace:
    """Steps 10 and 11 of 1 ms: in the first a matrix product for half of it, in the second
    communication for 0.4 ms beside a product for 0.1 ms."""
    events = [step(10, 0, 1000), step(11, 1000, 1000)]
    works = [(GEMM, 100, 500), ("ncclDevKernel_AllReduce_Sum_f32", 1100, 400), (GEMM, 1300, 100)]
    for number, (name, begin, length) in enumerate(works, 1):
        events.append(op("aten::mm", begin - 20, 10, ext=number))
        events.append(call("cudaLaunchKernel", begin - 15, 2, corr=number, ext=number))
        stream = 20 if name.startswith("nccl") else 7
        events.append(kernel(name, begin, length, corr=number, ext=number, stream=stream))
    return trace(events, baseTimeNanoseconds=BASE_NS, **header)


def test_measures_of_steps() -> None:
    points = values_of(two_steps())
    assert curve(points, "step_time_ms") == [(10, 1.0), (11, 1.0)]
    assert curve(points, "gpu_utilization_pct") == [(10, 50.0), (11, pytest.approx(40.0))]
    assert curve(points, "exposed_communication_pct") == [(10, 0.0), (11, pytest.approx(30.0))]
    assert curve(points, "tensor_core_share_pct") == [(10, 100.0), (11, pytest.approx(25.0))]
    first = points.points["profiler/step_time_ms", 10]
    assert first == Scalar("profiler/step_time_ms", 10, 1_700_000_000.001, 1.0)


def test_what_is_not_recorded_is_no_point_but_a_reason() -> None:
    points = values_of(trace([step(3, 0, 500), op("aten::add", 10, 20)]))
    assert {each.tag for each in points.scalars()} == {"profiler/step_time_ms"}
    assert set(points.reasons()) == {
        "exposed_communication_pct", "gpu_utilization_pct", "reader_ratio_pct",
        "tensor_core_share_pct", "throughput_samples_per_s",
    }  # fmt: skip
    assert all(points.reasons().values())


def test_without_a_clock_the_time_is_that_of_the_file() -> None:
    points = values_of(trace([step(3, 0, 500)]), recorded_s=12.5)
    assert [each.wall_time_s for each in points.scalars()] == [12.5]


def test_a_trace_without_steps_is_one_point() -> None:
    events = [
        op("aten::mm", 0, 10, ext=1),
        call("cudaLaunchKernel", 2, 2, corr=1, ext=1),
        kernel(GEMM, 10, 90, corr=1, ext=1),
    ]
    points = values_of(trace(events), trace(events))
    assert curve(points, "step_time_ms") == []
    assert [each for each, _ in curve(points, "whole_trace/gpu_utilization_pct")] == [0, 1]


def test_an_empty_trace_has_none() -> None:
    points = values_of(trace([]))
    assert points.scalars() == []
    assert points.reasons()


def test_a_timer_tells_of_all_steps_and_of_evaluations() -> None:
    rows = [
        ("train", "optimizer", 10, 0.0, 2000.0, 500.0, 32, False, False),
        ("train", "optimizer", 11, 2000.0, 4000.0, None, None, False, False),
        ("train", "optimizer", 12, 6000.0, None, None, None, False, False),
        ("evaluation", "loader", 0, 9000.0, 1000.0, 100.0, 8, False, False),
    ]
    frame = pl.DataFrame(rows, schema=SIDE_SCHEMAS["timed_steps"], orient="row")
    side = {"timed_steps": SideTable("timed_steps", "a timer", frame)}
    points = values_of(replace(two_steps(), side=side))
    assert curve(points, "step_time_ms") == [(10, 2.0), (11, 4.0)]  # not the profiler's
    assert curve(points, "reader_ratio_pct") == [(10, 25.0)]
    assert curve(points, "throughput_samples_per_s") == [(10, 16_000.0)]
    assert curve(points, "evaluation_step_time_ms") == [(0, 1.0)]
    assert points.points["profiler/step_time_ms", 11].wall_time_s == pytest.approx(
        1_700_000_000.006, abs=1e-6
    )
