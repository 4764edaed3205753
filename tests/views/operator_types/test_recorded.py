"""Types of operators that files sum: of each unit, with the operators they are of."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.recorded import recorded, side_table
from tests.helpers.traces import op
from tests.importers.mindspore.folders import folder_of, opened
from tests.importers.mindspore.folders import recorded as mindspore
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.operator_types.recorded import (
    NO_CALLS,
    NO_SINGLE,
    RECORDED_TYPES,
)
from torch_tb_profiler.views.operator_types.view import SPEC, operator_types
from torch_tb_profiler.views.schema import Table


def table(trace: Trace) -> Table:
    return operator_types(trace, Selection()).tables["recorded_types"]


def rows(of: Table) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["unit"], row["type"]): row for row in of.frame.to_dicts()}


def test_types_are_those_of_the_file_with_their_operators() -> None:
    trace = opened(mindspore("profiler", 1))
    assert SPEC.missing(trace) is None, "the recording has no other operators"
    actual = rows(table(trace))
    # MatMul,1.085,9,73.80 (ms); of them the detail file lists one: fc3-Dense/MatMul-op9.
    product = actual["AI Core", "MatMul"]
    assert (product["total_us"], product["calls"], product["pct"]) == (1085, 9, 73.8)
    assert product["operators"] == 1
    assert actual["AI Core", "AtomicAddrClean"]["operators"] == 3
    view = operator_types(trace, Selection())
    assert list(view.tables) == ["recorded_types"]
    (fact,) = view.facts
    total_us = 7.283 + 53.395 + 121.8 + 63.656 + 1085
    assert fact.scope == "AI Core"
    assert fact.value == pytest.approx(total_us)


def test_each_unit_has_types_and_sums_of_operators_where_the_file_has_none() -> None:
    files = {
        "aicore_intermediate_0_type.csv": (
            "kernel_type,total_time,execution_frequency,percent\nCast,0.03,3,100\n"
        ),
        "cpu_op_detail_info_0.csv": (
            "op_side,op_type,op_name,full_op_name,op_occurrences,op_total_time\n"
            "Host,Cast,Cast-op1,Default/Cast-op1,2,0.004\n"
            "Host,Cast,Cast-op2,Default/Cast-op2,1,0.002\n"
            "Host,Add,Add-op3,Default/Add-op3,1,0.002\n"
        ),
        "aicpu_intermediate_0.csv": "kernel_type,total_time\nGetNext,0.5\nGetNext,0.25\n",
    }
    of = table(opened(folder_of(files)))
    actual = rows(of)
    assert actual["AI Core", "Cast"]["total_us"] == pytest.approx(30)
    assert actual["AI Core", "Cast"]["operators"] is None
    assert of.null_reasons["operators"] == NO_SINGLE
    assert actual["AI CPU", "GetNext"]["calls"] == 2
    host = actual["host CPU", "Cast"]
    assert (host["operators"], host["calls"], host["total_us"]) == (2, 3, pytest.approx(6))
    assert (host["mean_us"], host["pct"]) == (pytest.approx(2), pytest.approx(75))


def test_shares_are_those_of_the_file_else_of_the_sum_of_a_unit() -> None:
    types: list[dict[str, Any]] = [
        {"unit": "AI Core", "type": "MatMul", "total_us": 30, "pct": 60},
        {"unit": "host CPU", "type": "Cast", "total_us": 30},
        {"unit": "host CPU", "type": "Add", "total_us": 10},
        {"unit": "library", "type": "x", "total_us": 5},
        {"unit": "library", "type": "y"},
    ]
    side = side_table("recorded_operators", "sums.csv", types)
    shares = {key: row["pct"] for key, row in rows(table(recorded([], side=[side]))).items()}
    assert shares == {
        ("AI Core", "MatMul"): 60, ("host CPU", "Cast"): 75, ("host CPU", "Add"): 25,
        ("library", "x"): None, ("library", "y"): None,
    }  # fmt: skip


def test_operators_without_a_number_of_calls_have_no_total() -> None:
    files = {
        "output_op_compute_time_0.txt": "op_name  compute_time(ms)  stream_id\nCast-op1  0.2  5\n"
    }
    of = table(opened(folder_of(files)))
    (row,) = of.frame.to_dicts()
    assert (row["operators"], row["total_us"], row["pct"]) == (1, None, None)
    assert of.null_reasons["total_us"] == NO_CALLS


def test_types_of_events_stand_before_those_of_files() -> None:
    side = side_table(
        "recorded_operators", "op_statistic.csv", [{"unit": "AI Core", "type": "Conv"}]
    )
    view = operator_types(recorded([op("aten::mm", 0, 5)], side=[side]), Selection())
    assert list(view.tables) == ["operator_types", "recorded_types"]
    assert RECORDED_TYPES.is_summary, "CSV stays that of the first table"
    alone = recorded([], side=[side])
    assert list(operator_types(alone, Selection()).tables) == ["recorded_types"]
    with pytest.raises(SelectionError):
        operator_types(alone, Selection(steps="7"))
