"""Types of operators, on worked traces and against looking at every moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from tests.views import reference
from tests.views.random_traces import Recording, recordings
from tests.views.slow_times import SlowTimes, is_inside
from torch_tb_profiler.analysis.operators.times import NO_RUNTIME
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge.operator_types import operator_type
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.operator_types.columns import NO_HOST_CALL, NO_WHOLE, UNKNOWN_TYPE
from torch_tb_profiler.views.operator_types.view import SPEC, operator_types
from torch_tb_profiler.views.schema import View


def view(recorded: Trace, selection: Selection | None = None) -> View:
    return operator_types(recorded, selection or Selection())


def rows(of: View) -> dict[str | None, dict[str, Any]]:
    return {row["type"]: row for row in of.tables["operator_types"].frame.to_dicts()}


def facts(of: View) -> dict[str, Any]:
    return {fact.key: fact.value for fact in of.facts}


def a_recording() -> list[Event]:
    return [
        step(1, 0, 900),
        op("aten::linear", 10, 60),
        op("aten::addmm", 20, 40),
        call("cudaLaunchKernel", 25, 10, corr=1),
        call("cudaLaunchKernel", 40, 10, corr=2),
        kernel("ampere_fp16_s1688gemm_fp16_128x128", 100, 30, corr=1),
        kernel("splitKreduce_kernel", 120, 30, corr=2, stream=8),
        op("aten::matmul", 200, 20),
        call("cudaLaunchKernel", 205, 5, corr=3),
        kernel("ampere_fp16_s1688gemm_fp16_128x128", 300, 10, corr=3),
        op("custom::thing", 400, 10),
        call("cudaGraphLaunch", 500, 20, corr=4),
        kernel("vectorized_elementwise_kernel", 600, 20, corr=4),
        kernel("mystery", 630, 5, corr=99),
    ]


def test_nested_calls_of_a_type_count_once_and_parallel_work_too() -> None:
    of = view(trace(a_recording()))
    products = rows(of)["matrix_product"]
    assert (products["operators"], products["calls"], products["timed_calls"]) == (3, 3, 2)
    assert products["tensor_core_eligible"] is products["tensor_core_used"] is True
    assert [products[f"cpu_{key}_us"] for key in ("total", "mean", "min", "max")] == [
        80,
        40,
        20,
        60,
    ]
    # Two kernels of 30 us overlap by 10: 50 us, then 10 us.
    assert [products[f"gpu_{key}_us"] for key in ("total", "mean", "min", "max")] == [
        60,
        30,
        10,
        50,
    ]
    assert products["cpu_overhead_total_us"] == 55
    assert products["gpu_idle_total_us"] == 0
    assert products["pct"] == pytest.approx(70 / 95 * 100)


def test_work_outside_operators_has_a_type_of_its_own() -> None:
    of = view(trace(a_recording()))
    result = rows(of)
    graph, unlinked = result["unassociated_cudaGraphLaunch"], result["unassociated_mystery"]
    assert (graph["operators"], graph["calls"], graph["cpu_total_us"]) == (1, 1, 20)
    assert (graph["gpu_max_us"], graph["cpu_overhead_total_us"]) == (20, 0)
    assert (unlinked["calls"], unlinked["cpu_total_us"], unlinked["gpu_total_us"]) == (1, None, 5)
    assert of.tables["operator_types"].null_reasons["cpu_mean_us"] == NO_HOST_CALL
    assert facts(of)["unassociated_pct"] == pytest.approx(25 / 95 * 100)


def test_operators_of_unknown_type_are_a_row_without_one() -> None:
    of = view(trace(a_recording()))
    assert rows(of)[None]["calls"] == 1
    assert of.tables["operator_types"].null_reasons["type"] == UNKNOWN_TYPE
    assert facts(of)["unknown_type_pct"] == 0
    assert facts(of)["type_count"] == 1


def test_without_a_device_shares_are_of_host_time() -> None:
    of = view(trace([op("aten::mm", 0, 30), op("custom::thing", 40, 10), op("aten::add", 60, 0)]))
    result = rows(of)
    assert (result["matrix_product"]["pct"], result[None]["pct"]) == (75, 25)
    assert facts(of)["unknown_type_pct"] == 25
    reasons = of.tables["operator_types"].null_reasons
    assert result["matrix_product"]["gpu_total_us"] is None
    assert reasons["gpu_total_us"] == reasons["tensor_core_used"] == NO_DEVICE_WORK
    assert reasons["cpu_overhead_total_us"] == NO_RUNTIME


def test_an_empty_selection_has_no_shares() -> None:
    of = view(trace(a_recording()), Selection(start_ns=10_000_000))
    assert of.tables["operator_types"].frame.is_empty()
    assert facts(of)["unknown_type_pct"] is None
    assert {fact.reason for fact in of.facts if fact.value is None} == {NO_WHOLE}


def test_a_recording_without_operators_lacks_the_view() -> None:
    assert SPEC.missing(trace([memcpy(0, 5)])) is not None
    assert SPEC.missing(trace(a_recording())) is None


@examples(40)
@given(recordings())
def test_random_traces_agree_with_every_moment(recording: Recording) -> None:
    recorded, selection = trace(recording.events), recording.selection
    slow = SlowTimes(recorded, recording)
    frame = operator_types(recorded, selection).tables["operator_types"].frame
    result = {row["type"]: row for row in frame.to_dicts()}
    shown = slow.shown()
    work = recorded.device_work["dur_ns"].filter(device_work_mask(recorded, selection))
    if len(frame) and frame["pct"].null_count() == 0:
        assert frame["pct"].sum() == pytest.approx(100)
    for kind in {operator_type(node.name) for node in shown}:
        nodes = [node for node in shown if operator_type(node.name) == kind]
        of_work = [node for node in nodes if not is_inside(node, nodes)]
        called = [node for node in nodes if slow.is_called(node.start)]
        single = [node for node in called if not is_inside(node, called)]
        row = result[kind]
        assert row["calls"] == len(called)
        assert row["cpu_total_us"] == pytest.approx(sum(node.dur for node in single) / 1e3)
        if row["gpu_total_us"] is not None:
            assert row["gpu_total_us"] == pytest.approx(sum(map(slow.busy, of_work)) / 1e3)
            assert row["gpu_idle_total_us"] == pytest.approx(sum(map(slow.idle, of_work)) / 1e3)
            largest = max(map(slow.busy, single), default=None)
            assert row["gpu_max_us"] == (None if largest is None else largest / 1e3)
        if row["gpu_total_us"] is not None and work.sum():
            own = sum(_own_ns(slow, node) for node in nodes)
            assert row["pct"] == pytest.approx(own / work.sum() * 100)


def _own_ns(slow: SlowTimes, node: reference.Node) -> int:
    return sum(reference.ns(piece["dur"]) for piece in node.work if slow.is_work(piece))
