"""Device work that no operator launched, and what a time range takes."""

from __future__ import annotations

import pytest

from tests.helpers.traces import (
    annotation,
    call,
    kernel,
    memcpy,
    op,
    trace,
)
from tests.views.operators.test_view import COSTS, costs, launch, rows
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.views.operators.view import operators


def test_device_work_outside_every_operator_has_rows_by_call() -> None:
    """A graph that a range launches, a copy that nothing is around, and what nothing launched."""
    events = [
        op("aten::mm", 0, 20),
        launch(2, 3, 1),
        kernel("k", 20, 10, corr=1),
        annotation("decode", 30, 40),
        call("hipGraphLaunch", 35, 25, corr=2),
        kernel("in_graph", 60, 50, corr=2),
        kernel("volta_fp16_s884gemm_fp16_64x64", 120, 150, corr=2),
        call("hipMemcpyAsync", 80, 4, corr=3),
        memcpy(300, 30, corr=3),
        memcpy(400, 60, corr=99),
    ]
    keys = (*COSTS, "tensor_core_total_min_pct", "kind")
    view = operators(trace(events), Selection())
    result = {row["name"]: [row[key] for key in keys] for row in rows(view)}
    assert result == {
        "aten::mm": [1, 20, 17, 10, 10, None, "operator"],
        "hipGraphLaunch": [1, 25, 25, 200, 200, 75, "call"],
        "hipMemcpyAsync": [1, 4, 4, 30, 30, 0, "call"],
        UNKNOWN_LAUNCH: [None, None, None, 60, 60, 0, "unlinked"],
    }
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["operator_device_time_pct"] == pytest.approx(100 * 10 / 300)
    late = {row["name"]: row for row in rows(operators(trace(events), Selection(start_ns=100_000)))}
    assert set(late) == {"hipGraphLaunch", "hipMemcpyAsync", UNKNOWN_LAUNCH}
    assert [late["hipGraphLaunch"][key] for key in COSTS] == [0, 0, 0, 150, 150]


def test_a_time_range_takes_device_work_by_its_own_start() -> None:
    """As the kernels view does: an operator before the range has what ran in it, and no call."""
    events = [
        op("aten::mm", 0, 20),
        launch(2, 3, 1),
        kernel("k", 20, 10, corr=1),
        kernel("k", 70, 7, corr=1),
        op("aten::add", 60, 20),
        launch(62, 3, 2),
        kernel("k", 95, 5, corr=2),
        kernel("k", 100, 50, corr=2),
    ]
    assert costs(events, start_ns=60_000, end_ns=100_000) == {
        "aten::mm": [0, 0, 0, 7, 7],
        "aten::add": [1, 20, 17, 5, 5],
    }
