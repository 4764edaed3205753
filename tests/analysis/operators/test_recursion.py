"""Operators inside operators of their name: totals have that time once."""

from __future__ import annotations

from typing import Any

from tests.helpers.traces import call, kernel, op, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.operators.view import operators

EVENTS = [
    op("aten::mm", 0, 100, shape=[[2]]),
    op("dispatch", 10, 80),
    op("aten::mm", 20, 60, shape=[[3]]),
    call("cudaLaunchKernel", 30, 5, corr=1),
    kernel("volta_fp16_s884gemm_fp16_64x64", 200, 40, corr=1),
    op("aten::other", 92, 5),
]
KEYS = ("calls", "host_total_us", "host_self_us", "device_total_us", "device_self_us")


def rows(**selection: Any) -> list[dict[str, Any]]:
    return operators(trace(EVENTS), Selection(**selection)).tables["operators"].frame.to_dicts()


def costs(**selection: Any) -> dict[str, list[float]]:
    return {row["name"]: [row[key] for key in KEYS] for row in rows(**selection)}


def test_totals_are_of_the_outermost_calls() -> None:
    found = costs()
    assert found["aten::mm"] == [2, 100, 15 + 55, 40, 40]
    assert found["dispatch"] == [1, 80, 20, 40, 0]
    row = next(row for row in rows() if row["name"] == "aten::mm")
    assert row["tensor_core_total_pct"] == 100


def test_rows_of_different_shapes_have_their_own() -> None:
    by_shape = rows(group_by="name+input_shape")
    totals = {r["input_shape"]: r["host_total_us"] for r in by_shape if r["name"] == "aten::mm"}
    assert totals == {"[[2]]": 100, "[[3]]": 60}


def test_what_is_around_a_selection_hides_nothing() -> None:
    assert costs(start_ns=15_000)["aten::mm"][:2] == [1, 60]
