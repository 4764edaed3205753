"""Identity and times of the rows of operators, by name and at their places."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from tests.views.random_traces import Recording, recordings
from torch_tb_profiler.analysis.operators.times import MEASURES, NO_RUNTIME
from torch_tb_profiler.analysis.recording.missing_reasons import NO_DEVICE_WORK
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.operators.columns import (
    BY_PATH,
    NO_CALL,
    NO_DIRECTION,
    NO_FORWARD,
    NO_KNOWN_TYPE,
    SEVERAL_OPERATORS,
)
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import Table


def table(recorded: Trace, group_by: str = BY_PATH, steps: str | None = None) -> Table:
    return operators(recorded, Selection(group_by=group_by, steps=steps)).tables["operators"]


def rows(of: Table) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in of.frame.to_dicts()}


def a_step(number: int) -> list[Event]:
    at = 1000 * number
    types: dict[str, Any] = {"Input type": ["float", "float"]}
    return [
        step(number, at, 900),
        op("aten::linear", at + 10, 60, **types),
        op("aten::addmm", at + 20, 40),
        call("cudaLaunchKernel", at + 30, 10, corr=2 * number),
        call("cudaLaunchKernel", at + 45, 10, corr=2 * number + 1),
        kernel("gemm", at + 100, 20, corr=2 * number),
        kernel("add", at + 130, 10 * number, corr=2 * number + 1),
        op("custom::thing", at + 200, 10),
        op("custom::thing", at + 220, 30),
    ]


@pytest.fixture
def recorded() -> Trace:
    return trace([*a_step(1), *a_step(2)])


def test_operators_at_their_places(recorded: Trace) -> None:
    result = rows(table(recorded))
    assert set(result) == {
        "/aten::linear",
        "/aten::linear/aten::addmm",
        "/custom::thing",
        "/custom::thing(2)",
    }
    linear = result["/aten::linear"]
    assert linear["operator_id"] == "matrix_product-unknown-1"
    assert (linear["calls"], linear["type"], linear["direction"]) == (2, "matrix_product", None)
    assert linear["dtype"] == linear["data_types"] == "float32"
    assert result["/custom::thing"]["operator_id"] == "unknown-unknown-3"
    assert result["/custom::thing(2)"]["host_total_us"] == 60


def test_times_of_an_operator(recorded: Trace) -> None:
    linear = rows(table(recorded, "name"))["aten::linear"]

    def of(measure: str) -> list[float]:
        return [linear[f"{measure}_{figure}_us"] for figure in ("mean", "min", "max")]

    assert (linear["host_total_us"], of("cpu")) == (120, [60, 60, 60])
    assert (linear["device_total_us"], of("gpu")) == (70, [35, 30, 40])
    assert (linear["cpu_overhead_total_us"], of("cpu_overhead")) == (80, [40, 40, 40])
    assert (linear["gpu_idle_total_us"], of("gpu_idle")) == (20, [10, 10, 10])
    assert linear["kernel_calls"] == 4


def test_times_of_a_selected_step(recorded: Trace) -> None:
    linear = rows(table(recorded, steps="2"))["/aten::linear"]
    assert (linear["gpu_max_us"], linear["kernel_calls"], linear["calls"]) == (40, 2, 1)
    assert linear["operator_id"] == "matrix_product-unknown-1"


def test_a_row_of_several_operators_has_no_id_and_says_why(recorded: Trace) -> None:
    of = table(recorded, "name")
    assert rows(of)["custom::thing"]["operator_id"] is None
    assert rows(of)["aten::linear"]["operator_id"] == "matrix_product-unknown-1"
    assert of.null_reasons["operator_id"] == SEVERAL_OPERATORS
    assert of.null_reasons["direction"] == NO_DIRECTION
    assert of.null_reasons["type"] == NO_KNOWN_TYPE


def test_directions_of_a_training() -> None:
    backward: dict[str, Any] = {"tid": 2, "Sequence number": 7, "Fwd thread id": 1}
    forward: dict[str, Any] = {"Sequence number": 7}
    of = table(
        trace([op("aten::mm", 0, 10, **forward), op("MmBackward0", 20, 30, **backward)]), BY_PATH
    )
    directions = [(row["name"], row["direction"]) for row in of.frame.to_dicts()]
    assert sorted(directions) == [("/aten::mm", "backward"), ("/aten::mm", "forward")]
    ids = dict(of.frame.select("direction", "operator_id").rows())
    assert len(set(ids.values())) == 2
    forward_ids = dict(of.frame.select("direction", "forward_operator_id").rows())
    assert forward_ids == {"forward": None, "backward": ids["forward"]}
    assert of.null_reasons["forward_operator_id"] == NO_FORWARD


def test_what_was_not_recorded_is_null_with_its_reason() -> None:
    of = table(trace([op("aten::mm", 0, 10)]), "name")
    [row] = of.frame.to_dicts()
    assert row["cpu_overhead_total_us"] is row["gpu_idle_total_us"] is row["kernel_calls"] is None
    assert of.null_reasons["cpu_overhead_mean_us"] == NO_RUNTIME
    assert of.null_reasons["gpu_idle_mean_us"] == of.null_reasons["kernel_calls"] == NO_DEVICE_WORK


def test_work_outside_operators_has_no_times_of_calls() -> None:
    events = [
        op("aten::mm", 0, 10),
        annotation("range", 20, 10),
        call("cudaGraphLaunch", 22, 5, corr=1),
        kernel("k", 30, 5, corr=1),
    ]
    of = table(trace(events))
    assert rows(of)["cudaGraphLaunch"]["gpu_mean_us"] is None
    assert of.null_reasons["gpu_mean_us"] == of.null_reasons["cpu_mean_us"] == NO_CALL


@examples(40)
@given(recordings())
def test_places_part_the_rows_of_names(recording: Recording) -> None:
    """What adds up is the same by name and by path, and means lie between smallest and largest."""
    recorded, selection = trace(recording.events), recording.selection
    sums = []
    for group_by in ("name", BY_PATH):
        chosen = Selection(selection.steps, selection.start_ns, selection.end_ns, group_by)
        frame = operators(recorded, chosen).tables["operators"].frame
        keys = ("calls", "device_self_us", "host_self_us", "gaps_before_us")
        sums.append([pytest.approx(frame[key].sum()) for key in keys])
        for row in frame.iter_rows(named=True):
            for measure in MEASURES:
                low, mean, high = (row[f"{measure}_{f}_us"] for f in ("min", "mean", "max"))
                assert mean is None or (low <= mean * (1 + 1e-12) and mean <= high * (1 + 1e-12))
    assert [value.expected for value in sums[0]] == sums[1]
