"""The dashboard of the overview: resources, classes and figures of a small trace by hand, and what
is said where a recording cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from tests.views.overview.test_view import fact
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import NO_DEVICE
from torch_tb_profiler.views.overview.classes import NO_ELIGIBLE
from torch_tb_profiler.views.overview.gpus import NO_GPU_WORK, OF_OTHER_RANKS
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import View

GEMM, ADD, NEW = "volta_s884gemm", "vectorized_elementwise_kernel", "nobody knows this"
EVENTS = [
    step(1, 0, 200),
    op("aten::mm", 0, 30),
    call("cudaLaunchKernel", 5, 5, corr=1),
    kernel(GEMM, 20, 60, corr=1),
    call("cudaMemcpyAsync", 20, 5, corr=2),
    memcpy(90, 10, corr=2),
    op("aten::conv2d", 100, 20),
    call("cudaLaunchKernel", 105, 5, corr=3),
    kernel(NEW, 120, 30, corr=3),
    op("aten::add", 160, 10),
    call("cudaLaunchKernel", 161, 5, corr=4),
    kernel(ADD, 170, 10, corr=4),
]
PROPERTIES = [
    {"id": 0, "name": "V100", "computeMajor": 7, "computeMinor": 0, "numSms": 80},
    {"id": 1, "name": "V100", "computeMajor": 7, "computeMinor": 0},
]


def rows(view: View, table: str, *keys: str) -> list[tuple[Any, ...]]:
    return view.tables[table].frame.select(keys).rows()


def test_the_numbers_of_a_small_trace() -> None:
    view = overview(trace(EVENTS), Selection())
    assert rows(view, "resources", "category", "duration_us", "tensor_core_unknown_us") == [
        ("tensor_core", 60.0, None),
        ("other_kernels", 40.0, 30.0),
        ("memory", 10.0, None),
        ("cpu", 50.0, None),
        ("other", 40.0, None),
    ]
    assert rows(view, "resources", "pct") == [(30.0,), (20.0,), (5.0,), (25.0,), (20.0,)]
    by_gpu = view.tables["resources_by_gpu"].frame.drop("gpu").row(0)
    assert by_gpu == (60.0, 40.0, 10.0, 50.0, 40.0, 30.0, 20.0, 5.0, 25.0, 20.0, 30.0)
    keys = ("class", "gpu_time_us", "cpu_time_us", "operators", "tensor_core_unknown_us")
    assert rows(view, "operator_classes", *keys) == [
        ("all", 110.0, 60.0, 3, 30.0),
        ("using_tensor_cores", 70.0, 30.0, 1, 0.0),
        ("eligible_not_using", 30.0, 20.0, 1, 30.0),
        ("other", 10.0, 10.0, 1, 0.0),
    ]
    assert rows(view, "kernel_classes", "class", "gpu_time_us", "api_time_us", "kernels") == [
        ("all", 110.0, 20.0, 4),
        ("using_tensor_cores", 60.0, 5.0, 1),
        ("memory", 10.0, 5.0, 1),
        ("other", 40.0, 10.0, 2),
    ]
    assert fact(view, "wall_clock_us").value == 200
    efficiency = fact(view, "tensor_core_efficiency_pct")  # 60 of 90 µs use them, 30 maybe
    assert efficiency.value is None
    assert efficiency.reason is not None
    assert efficiency.reason.endswith("the share lies between 66.7 % and 100.0 %.")
    assert view.tables["resources"].null_reasons.keys() == {"tensor_core_unknown_us"}


@given(recordings())
def test_parts_add_up(recording: Recording) -> None:
    recorded = trace(recording.events)
    view = overview(recorded, recording.selection)
    whole = view.tables["steps"].frame["total_us"].sum()
    actual = view.tables["resources"].frame.drop_nulls("pct")
    if not whole:
        assert actual.is_empty()
    elif not recorded.device_work.is_empty():
        assert actual["duration_us"].sum() == pytest.approx(whole)
        assert actual["pct"].sum() == pytest.approx(100)
    for table in ("operator_classes", "kernel_classes"):
        frame = view.tables[table].frame
        for key in frame.columns[1:]:
            whole, *parts = frame[key].to_list()
            if None not in parts:
                assert whole == pytest.approx(sum(parts)), (table, key)
            assert None not in frame[key] or key in view.tables[table].null_reasons


def test_kernel_shares_of_one_gpu_are_its_utilization() -> None:
    view = overview(trace(EVENTS), Selection())
    shares = view.tables["resources"].frame["pct"]
    assert shares[0] + shares[1] == pytest.approx(fact(view, "gpu_utilization_pct", "GPU 0").value)


def test_gpus_that_are_seen_and_not_used_count_for_the_mean() -> None:
    view = overview(trace(EVENTS, deviceProperties=PROPERTIES), Selection())
    assert fact(view, "gpu_utilization_mean_pct").value == pytest.approx(25)
    assert fact(view, "gpu_utilization_used_mean_pct").value == pytest.approx(50)
    assert rows(view, "gpus", "gpu", "sm_count") == [(0, 80)]


@pytest.mark.parametrize(
    ("header", "events", "mean_pct"),
    [
        ({"distributedInfo": {"rank": 0, "world_size": 2}}, [], None),
        ({"distributedInfo": {"rank": 0, "world_size": 1}}, [], 25),
        ({}, [kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 30, 10, stream=9)], None),
    ],
)
def test_a_rank_says_nothing_of_gpus_that_other_ranks_may_use(
    header: dict[str, Any], events: list[Event], mean_pct: float | None
) -> None:
    recorded = trace([*EVENTS, *events], deviceProperties=PROPERTIES, **header)
    view = overview(recorded, Selection())
    mean = fact(view, "gpu_utilization_mean_pct")
    assert mean.value == (None if mean_pct is None else pytest.approx(mean_pct))
    assert mean.reason == (OF_OTHER_RANKS if mean_pct is None else None)
    assert fact(view, "gpu_utilization_used_mean_pct").value == pytest.approx(50)


def test_without_a_device_its_numbers_are_unknown_and_say_why() -> None:
    view = overview(trace([step(1, 0, 100), op("aten::mm", 10, 40)]), Selection())
    assert rows(view, "resources", "duration_us") == [(None,), (None,), (None,), (40.0,), (60.0,)]
    assert view.tables["resources"].null_reasons["duration_us"] == NO_DEVICE
    assert rows(view, "operator_classes", "class", "cpu_time_us", "operators")[:2] == [
        ("all", 40.0, 1),
        ("using_tensor_cores", None, None),
    ]
    assert set(view.tables["operator_classes"].null_reasons.values()) == {NO_DEVICE_WORK}
    assert view.tables["kernel_classes"].frame["kernels"].null_count() == 4
    assert view.tables["resources_by_gpu"].why_empty == NO_GPU_WORK
    assert fact(view, "gpu_utilization_mean_pct").reason == NO_GPU_WORK
    assert fact(view, "tensor_core_efficiency_pct").reason == NO_DEVICE_WORK


def test_efficiency_needs_an_operator_that_could() -> None:
    events = [op("aten::add", 0, 10), call("cudaLaunchKernel", 1, 5, corr=4)]
    view = overview(trace([*events, kernel(ADD, 20, 10, corr=4)]), Selection())
    assert fact(view, "tensor_core_efficiency_pct").reason == NO_ELIGIBLE


def test_iterations_and_their_length() -> None:
    recorded = trace([step(n, 200 * n, 90 + 10 * n) for n in (1, 2, 3)])
    view = overview(recorded, Selection(steps="2:"))
    assert {f.key: f.value for f in view.facts if f.key.startswith("iteration")} == {
        "iterations_total": 3,
        "iterations_selected": 2,
        "iterations_first": "2",
        "iterations_last": "3",
        "iteration_mean_us": 115.0,
        "iteration_stddev_us": 5.0,
    }


def test_the_system_says_what_nobody_recorded() -> None:
    header = {"deviceProperties": PROPERTIES, "cuda_driver_version": 12090}
    view = overview(trace(EVENTS, **header), Selection())
    assert fact(view, "gpu_count").value == 2
    assert fact(view, "gpu_names").value == "V100"
    assert fact(view, "cuda_driver_version").value == "12.9"
    assert fact(view, "profiler").value == "torch.profiler", "as people call it, not the format"
    numbered = overview(trace(EVENTS, schemaVersion=1), Selection())
    assert fact(numbered, "profiler").value == "torch.profiler, schema 1"
    for key in ("cpu_model", "cudnn_version", "cuda_runtime_version", "host_name"):
        assert fact(view, key).value is None
        assert fact(view, key).reason
    on_cpu = overview(trace([op("aten::mm", 0, 5)]), Selection())
    assert fact(on_cpu, "gpu_count").value is None
    assert fact(on_cpu, "gpu_names").reason == fact(on_cpu, "gpu_count").reason
    on_rocm = overview(trace(EVENTS, hip_runtime_version=60443483), Selection())
    assert "HIP" in str(fact(on_rocm, "cuda_runtime_version").reason)


def test_guidance_is_the_same_for_every_trace() -> None:
    table = overview(trace([]), Selection()).tables["guidance"].frame
    assert table.height > 5
    assert table.null_count().sum_horizontal().item() == 0
