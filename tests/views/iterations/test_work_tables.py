"""Operators and device work of iterations agree with a walk over the events."""

from __future__ import annotations

from collections import Counter
from typing import cast

import pytest

from tests.helpers.traces import Event, call, kernel, memcpy, op, step, trace
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.loading.queries.views import with_rows
from torch_tb_profiler.requests.questions import TableQuery
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.iterations.view import iterations_view
from torch_tb_profiler.views.iterations.work_tables import (
    FIRST_ROWS,
    kernels_table,
    operators_table,
)

GEMM = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn"
PLAIN = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)"


def _with(event: Event, argument: str, value: list[str]) -> Event:
    return {**event, "args": {**event["args"], argument: value}}


def _events(steps: int = 3) -> list[Event]:
    """Per step of 100 µs a linear operator around a product, an addition, and a copy outside."""
    events: list[Event] = []
    for number in range(steps):
        start, corr = 100 * number, 10 * number + 1
        events += [
            step(number, start, 100),
            _with(op("aten::linear", start + 5, 40, shape=[[2, 3]]), "Input type", ["float"]),
            _with(op("aten::mm", start + 10, 20), "Concrete Inputs", ["1"]),
            call("cudaLaunchKernel", start + 12, 4, corr=corr),
            kernel(GEMM, start + 20, 15, corr=corr, grid=[2, 1, 1], block=[64, 1, 1]),
            op("aten::add", start + 50, 10),
            call("cudaLaunchKernel", start + 52, 4, corr=corr + 1),
            kernel(PLAIN, start + 60, 5, corr=corr + 1),
            call("cudaMemcpyAsync", start + 70, 6, corr=corr + 2),
            memcpy(start + 75, 3, corr=corr + 2),
        ]
    return events


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return trace(_events())


def test_operators_of_the_chosen_iteration(recorded: Trace) -> None:
    table = operators_table(recorded, Selection(), "1")
    columns = ("name", "start_us", "duration_us", "kernels", "gpu_time_us", "tensor_core_time_us")
    assert table.frame.select(columns).rows() == [
        ("aten::linear", 105.0, 40.0, 1, 15.0, 15.0),
        ("aten::mm", 110.0, 20.0, 1, 15.0, 15.0),
        ("aten::add", 150.0, 10.0, 1, 5.0, 0.0),
        ("unassociated_cudaMemcpyAsync", 170.0, 6.0, 0, 3.0, 0.0),
    ]
    assert table.frame["iteration"].unique().to_list() == [1]
    linear = table.frame.row(0, named=True)
    assert (linear["dtype"], linear["input_shapes"]) == ("float32", "[[2, 3]]")
    assert linear["type"] == "matrix_product"
    assert table.frame["path"].to_list()[1] == "/aten::linear/aten::mm"
    assert table.frame["calls"].to_list() == [1, 1, 1, 1]


def test_without_a_choice_they_are_of_the_selected_iterations(recorded: Trace) -> None:
    frame = operators_table(recorded, Selection(steps="1:2")).frame
    assert frame["iteration"].to_list() == [1] * 4 + [2] * 4
    # One operator has one id in every iteration.
    assert frame["operator_id"].to_list()[:4] == frame["operator_id"].to_list()[4:]


def test_kernels_of_the_chosen_iteration_and_operator(recorded: Trace) -> None:
    every = kernels_table(recorded, Selection(), "1").frame
    columns = ("operator", "kernel", "gpu_start_us", "gpu_time_us", "api_start_us", "api_time_us")
    assert every.select(columns).rows() == [
        ("aten::mm", GEMM, 120.0, 15.0, 112.0, 4.0),
        ("aten::add", PLAIN, 160.0, 5.0, 152.0, 4.0),
        ("unassociated_cudaMemcpyAsync", "Memcpy HtoD", 175.0, 3.0, 170.0, 6.0),
    ]
    assert every["tensor_core_used"].to_list() == [True, False, False]
    first = every.row(0, named=True)
    assert (first["grid"], first["block"], first["gpu"]) == ("[2, 1, 1]", "[64, 1, 1]", 0)
    assert first["concrete_inputs"] == '["1"]'
    assert first["short_name"]
    operators = operators_table(recorded, Selection(), "1").frame
    for row in operators.iter_rows(named=True):
        kernels = kernels_table(recorded, Selection(), "1", row["operator_id"]).frame
        assert kernels["gpu_time_us"].sum() == row["gpu_time_us"]
    inside = kernels_table(recorded, Selection(), "1", operators["operator_id"][0]).frame
    assert inside["operator"].to_list() == ["aten::mm"]


def test_nothing_is_lost_where_operators_cross_iterations() -> None:
    recorded = split_iterations(trace(_events()), "name:aten::mm")
    kernels = kernels_table(recorded, Selection()).frame
    assert kernels.height == 9
    operators = operators_table(recorded, Selection()).frame
    outermost = operators.filter(operators["name"] != "aten::mm")
    assert outermost["gpu_time_us"].sum() == kernels["gpu_time_us"].sum()
    # A product is launched in the iteration that its end closes; what follows is in the next.
    counts = Counter(kernels.select("iteration", "operator").rows())
    assert counts[0, "aten::mm"] == counts[1, "aten::add"] == 1
    assert counts[0, "aten::add"] == 0


@pytest.mark.parametrize(
    "wrong", [{"iteration": "77"}, {"operator_id": "x"}, {"operator_id": "a-b-9"}]
)
def test_what_is_not_there_is_refused(recorded: Trace, wrong: dict[str, str]) -> None:
    with pytest.raises(SelectionError):
        iterations_view(recorded, Selection(), **wrong)


def test_of_many_rows_the_first_are_made_and_all_when_asked_for() -> None:
    recorded = trace(_events(FIRST_ROWS // 2))
    view = iterations_view(recorded, Selection())
    table = view.tables["iteration_kernels"]
    assert (table.frame.height, table.row_count) == (FIRST_ROWS, 3 * (FIRST_ROWS // 2))
    asked = with_rows(view, TableQuery("iteration_kernels")).tables["iteration_kernels"]
    assert asked.frame.height == table.row_count
    assert asked.frame.head(FIRST_ROWS).equals(table.frame)
    last = with_rows(view, TableQuery("iteration_kernels", filter="iteration=200", limit=2))
    of_last = last.tables["iteration_kernels"]
    assert of_last.row_count == 3
    assert of_last.frame["iteration"].to_list() == [200, 200]
    operators = with_rows(view, TableQuery("iteration_operators", sort="-start_us", limit=1))
    names = cast(list[str], operators.tables["iteration_operators"].frame["name"].to_list())
    assert names == ["unassociated_cudaMemcpyAsync"]


def test_without_device_work_there_is_no_gpu_time() -> None:
    table = operators_table(trace([step(0, 0, 50), op("aten::mm", 5, 10)]), Selection())
    assert table.frame.select("name", "kernels", "gpu_time_us").rows() == [("aten::mm", None, None)]
    assert "no device work" in table.null_reasons["gpu_time_us"]
    assert kernels_table(trace([op("aten::mm", 5, 10)]), Selection()).why_empty is not None


def test_kernels_without_a_recorded_launch_are_listed_last_and_in_no_iteration() -> None:
    recorded = trace(
        [
            step(1, 0, 100),
            call("cudaLaunchKernel", 10, 5, corr=1),
            kernel("early", 5, 10),
            kernel("launched", 20, 10, corr=1),
        ]
    )

    def listed(selection: Selection) -> list[tuple[object, ...]]:
        frame = kernels_table(recorded, selection).frame
        return list(frame.select("iteration", "kernel", "gpu_time_us").iter_rows())

    assert listed(Selection()) == [(1, "launched", 10.0), (None, "early", 10.0)]
    assert listed(Selection(steps="1")) == [(1, "launched", 10.0)]
    assert "iteration" in kernels_table(recorded, Selection()).null_reasons
