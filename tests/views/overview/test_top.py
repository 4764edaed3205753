"""The operators and kernels with most time.

Cases: the order and numbers by hand; device time nobody launched; CPU only; launches that are not
in the file; nothing at all; more than ten; a selection; on every sample the first rows of
the operators and the kernels view.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.detectors.scenes import load
from tests.helpers.traces import Event, call, kernel, op, step, trace
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.kernels.view import kernels
from torch_tb_profiler.views.name_columns import AS_RECORDED
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.overview.top import NO_KERNEL_TIME, ROWS, top_kernels, top_operators
from torch_tb_profiler.views.schema import Table

ALL = Selection()


def ran(name: str, by: str, at: float, dur: float, corr: int) -> list[Event]:
    """An operator of 10 µs that launches a kernel."""
    return [
        op(by, at, 10),
        call("cudaLaunchKernel", at + 2, 3, corr=corr),
        kernel(name, at + 20, dur, corr=corr),
    ]


EVENTS = [
    step(1, 0, 1000),
    *ran("gemm", "aten::mm", 100, 60, 1),
    *ran("gemm", "aten::mm", 200, 20, 2),
    *ran("add", "aten::add", 300, 70, 3),
    kernel("alone", 500, 50),
    step(2, 1000, 1000),
    *ran("add", "aten::add", 1100, 200, 4),
]


def values(table: Table, *keys: str) -> list[tuple[Any, ...]]:
    return table.frame.select(keys).rows()


def test_the_numbers_of_a_small_trace() -> None:
    of = trace(EVENTS)
    table = top_operators(of, ALL)
    assert values(table, "name", "calls", "device_self_us", "host_self_us") == [
        ("aten::add", 2, 270.0, 14.0),
        ("aten::mm", 2, 80.0, 14.0),
        (UNKNOWN_LAUNCH, None, 50.0, None),
    ]
    assert values(table, "device_self_pct") == [(67.5,), (20.0,), (12.5,)]
    assert values(table, "cumulative_pct") == [(67.5,), (87.5,), (100.0,)]
    table = top_kernels(of, ALL)
    assert values(table, "name", "calls", "total_us", "total_pct", "mean_us") == [
        ("add", 2, 270.0, 67.5, 135.0),
        ("gemm", 2, 80.0, 20.0, 40.0),
        ("alone", 1, 50.0, 12.5, 50.0),
    ]
    assert values(table, "cumulative_pct") == [(67.5,), (87.5,), (100.0,)]


def test_what_the_operators_are() -> None:
    of = trace(
        [
            op("aten::linear", 0, 30),
            op("aten::addmm", 5, 20),
            call("cudaLaunchKernel", 6, 3, corr=1),
            kernel("volta_s884gemm", 20, 60, corr=1),
            call("cudaLaunchKernel", 10, 3, corr=2),
            kernel("nobody knows this", 90, 5, corr=2),
            *ran("nobody knows this", "my::op", 200, 7, 3),
            call("cudaGraphLaunch", 300, 7, corr=4),
            kernel("add", 310, 1, corr=4),
        ]
    )
    table = top_operators(of, ALL)
    keys = ("name", "gpu_time_us", "type", "tensor_core_eligible", "tensor_core_used")
    assert values(table, *keys) == [
        ("aten::addmm", 65.0, "matrix_product", True, True),
        ("my::op", 7.0, None, None, None),
        ("cudaGraphLaunch", 1.0, None, None, None),
        ("aten::linear", 65.0, "matrix_product", True, True),
    ]


def test_gpu_time_of_a_call_inside_one_of_its_name_counts_once() -> None:
    of = trace([op("aten::a", 0, 90), op("aten::b", 2, 60), *ran("add", "aten::a", 10, 30, 1)])
    assert values(top_operators(of, ALL), "name", "gpu_time_us") == [
        ("aten::a", 30.0),
        ("aten::b", 30.0),
    ]


def test_a_selection_leaves_the_rest_out() -> None:
    chosen = Selection(steps="2")
    assert values(top_operators(trace(EVENTS), chosen), "name", "device_self_pct") == [
        ("aten::add", 100.0)
    ]
    assert values(top_kernels(trace(EVENTS), chosen), "name", "total_pct") == [("add", 100.0)]


def test_without_device_work_the_host_tells() -> None:
    of = trace([step(1, 0, 100), op("aten::a", 1, 5), op("aten::b", 10, 50)])
    table = top_operators(of, ALL)
    assert values(table, "name", "device_self_us", "device_self_pct", "host_self_us") == [
        ("aten::b", None, None, 50.0),
        ("aten::a", None, None, 5.0),
    ]
    of_device = {"device_self_us", "device_self_pct", "gpu_time_us", "tensor_core_used"}
    assert set(table.null_reasons) == {*of_device, "direction", "type"}
    assert values(table, "cumulative_pct")[-1] == (100.0,)
    assert top_kernels(of, ALL).frame.is_empty()


def test_device_time_that_nothing_links_to_the_host_is_unknown_not_0() -> None:
    of = trace([step(1, 0, 100), op("aten::a", 1, 5), kernel("k", 10, 5)])
    assert values(top_operators(of, ALL), "name", "device_self_us", "host_self_us") == [
        (UNKNOWN_LAUNCH, 5.0, None),
        ("aten::a", None, 5.0),
    ]
    assert values(top_kernels(of, ALL), "name", "total_pct") == [("k", 100.0)]


def test_a_launch_outside_every_operator_is_among_them() -> None:
    of = trace(
        [
            step(1, 0, 1000),
            *ran("add", "aten::add", 100, 30, 1),
            call("cudaGraphLaunch", 300, 7, corr=2),
            kernel("gemm", 310, 60, corr=2),
        ]
    )
    assert values(top_operators(of, ALL), "name", "calls", "device_self_pct", "host_self_us") == [
        ("cudaGraphLaunch", 1, pytest.approx(200 / 3), 7.0),
        ("aten::add", 1, pytest.approx(100 / 3), 7.0),
    ]


def test_kernels_of_no_time_have_no_share() -> None:
    table = top_kernels(trace([step(1, 0, 100), kernel("k", 10, 0)]), ALL)
    assert values(table, "total_us", "total_pct") == [(0.0, None)]
    shares = dict.fromkeys(("total_pct", "cumulative_pct"), NO_KERNEL_TIME)
    assert table.null_reasons == {**shares, "demangled_name": AS_RECORDED}


def test_of_nothing_there_is_nothing() -> None:
    assert top_operators(trace([]), ALL).frame.is_empty()
    assert top_kernels(trace([]), ALL).frame.is_empty()


def test_ten_are_enough() -> None:
    of = trace([step(1, 0, 1000), *(kernel(f"k{n}", 20 * n, n + 1) for n in range(15))])
    assert [name for (name,) in values(top_kernels(of, ALL), "name")] == [
        f"k{n}" for n in range(14, 14 - ROWS, -1)
    ]


@pytest.mark.parametrize("steps", [None, "first"])
def test_the_rows_are_those_of_the_views(samples: Path, steps: str | None) -> None:
    seen = 0
    for path in sorted(samples.glob("*/*.gz")):
        of: Trace = load(path)
        if steps is not None and of.steps.is_empty():
            continue
        name = None if steps is None else str(of.steps["name"][0])
        selection = Selection(steps=name)
        for top, view, table in (
            (top_operators, operators, "operators"),
            (top_kernels, kernels, "kernels"),
        ):
            mine, whole = top(of, selection).frame, view(of, selection).tables[table].frame
            # Operators of all iterations together tell the direction of more calls.
            keys = [key for key in mine.columns if key in whole.columns and key != "direction"]
            times = [key for key in keys if key.endswith("self_us") or key == "total_us"]
            assert mine.select(times).rows() == whole.head(ROWS).select(times).rows(), path
            known = set(whole.select(keys).rows())
            assert set(mine.select(keys).rows()) <= known, path
            if top is top_operators:
                actual = mine.select("name", "direction").drop_nulls()
                assert set(actual.rows()) <= set(whole.select(actual.columns).rows()), path
            seen += mine.height
    assert seen > 50
