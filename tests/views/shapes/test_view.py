"""Times and shapes of operators over iterations, of a timeline and of a file."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from tests.helpers.traces import call, kernel, op, step, trace
from tests.importers.mindspore.folders import folder_of, opened, recorded
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.trace.derived import DerivedValues
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.shapes.view import SPEC, shapes


def shaped(ts: float, dur: float, dims: object, **more: Any) -> dict[str, Any]:
    event = op("aten::mm", ts, dur, **more)
    event["args"]["Input Dims"] = dims
    return event


def rows(view: View, table: str) -> list[dict[str, Any]]:
    return view.tables[table].frame.rows(named=True)


def on_host() -> list[dict[str, Any]]:
    """Two iterations of two products: the first always of one shape, the second of another in each
    iteration. An operator without shapes runs beside."""
    return [
        step(1, 0, 100), shaped(10, 10, [[2, 3]]), shaped(30, 20, [[4, 4]]),
        op("aten::relu", 60, 1),
        step(2, 100, 100), shaped(110, 30, [[2, 3]]), shaped(150, 40, [[8, 8]]),
        op("aten::relu", 195, 4),
    ]  # fmt: skip


def test_types_over_iterations() -> None:
    view = shapes(trace(on_host()), Selection())
    assert rows(view, "types") == [
        {"type": "aten::mm", "iteration": "1", "calls": 2, "time_us": 30.0, "call_mean_us": 15.0,
         "mean_us": 50.0,
         "min_us": 30.0, "max_us": 70.0, "distinct_shapes": 3},
        {"type": "aten::mm", "iteration": "2", "calls": 2, "time_us": 70.0, "call_mean_us": 35.0,
         "mean_us": 50.0,
         "min_us": 30.0, "max_us": 70.0, "distinct_shapes": 3},
    ]  # fmt: skip


def test_operators_with_their_shapes() -> None:
    view = shapes(trace(on_host()), Selection())
    actual = [
        (row["name"], row["iteration"], row["time_us"], row["input_shapes"], row["mean_us"],
         row["distinct_shapes"])
        for row in rows(view, "instances")
    ]  # fmt: skip
    assert actual == [
        ("/aten::mm(2)", "1", 20, "[[4, 4]]", 30, 2),
        ("/aten::mm(2)", "2", 40, "[[8, 8]]", 30, 2),
        ("/aten::mm", "1", 10, "[[2, 3]]", 20, 1),
        ("/aten::mm", "2", 30, "[[2, 3]]", 20, 1),
    ]
    facts = {fact.key: fact.value for fact in view.facts}
    assert (facts["dynamic_operators"], facts["operator_count"]) == (1, 2)
    assert facts["shapes_source"] == "timeline"


def test_a_step_that_the_recording_ended_in_is_in_no_mean() -> None:
    whole = trace(on_host())
    steps = whole.steps.with_columns(kept=pl.col("name") == "1")
    cut = replace(whole, steps=steps, derived=DerivedValues())
    assert {row["iteration"] for row in rows(shapes(cut, Selection()), "instances")} == {"1"}
    requested = shapes(cut, Selection(steps="2"))
    assert {row["iteration"] for row in rows(requested, "instances")} == {"2"}


def test_curves() -> None:
    (line,) = shapes(trace(on_host()), Selection()).series["time_by_type"].lines
    assert (line.name, line.x, line.y) == ("aten::mm", [1, 2], [30, 70])
    assert shapes(trace(on_host()), Selection(steps="1")).series == {}
    by_operator = shapes(trace(on_host()), Selection()).series["time_by_operator"].lines
    assert [(line.name, line.y) for line in by_operator] == [
        ("/aten::mm(2)", [20, 40]),
        ("/aten::mm", [10, 30]),
    ]
    recorded_lines = shapes(opened(recorded("profiler", 0)), Selection()).series["time_by_type"]
    names = [each.name for each in recorded_lines.lines]
    assert names == ["GetNext", "InitDataSetQueue", "Add"], "by their whole time"
    start = next(each for each in recorded_lines.lines if each.name == "InitDataSetQueue")
    assert start.x == list(range(1, 10))
    assert start.y == [633.088, *[None] * 8]


def test_a_selection_of_steps() -> None:
    view = shapes(trace(on_host()), Selection(steps="2"))
    assert {row["iteration"] for row in rows(view, "instances")} == {"2"}
    assert {row["distinct_shapes"] for row in rows(view, "instances")} == {1}


def test_time_is_that_of_the_device_where_there_is_one() -> None:
    events = [
        step(1, 0, 100),
        shaped(10, 30, [[2, 3]], ext=4),
        call("cudaLaunchKernel", 20, 5, corr=7, ext=4),
        kernel("gemm", 40, 17, corr=7, ext=4),
    ]
    (row,) = rows(shapes(trace(events), Selection()), "types")
    assert row["time_us"] == 17


def test_a_file_of_dynamic_shapes() -> None:
    view = shapes(opened(recorded("profiler", 0)), Selection())
    add = [row for row in rows(view, "types") if row["type"] == "Add"]
    # The nine durations in the file.
    times = [75.616, 48.64, 36.032, 18.272, 39.584, 25.984, 71.36, 25.312, 20.608]
    assert [row["time_us"] for row in add] == times
    assert abs(add[0]["mean_us"] - sum(times) / 9) < 1e-9
    assert (add[0]["min_us"], add[0]["max_us"], add[0]["distinct_shapes"]) == (18.272, 75.616, 1)
    get_next = next(row for row in rows(view, "instances") if row["name"] == "GetNext-op7")
    assert (get_next["calls"], get_next["input_shapes"]) == (2, None)
    assert abs(get_next["time_us"] - (139.392 + 167.648)) < 1e-9
    assert abs(get_next["call_mean_us"] - 153.52) < 1e-9, "MindSpore Insight draws this one"
    (drawn,) = (
        line for line in view.series["time_by_operator"].lines if line.name == "GetNext-op7"
    )
    assert drawn.y[0] == pytest.approx(307.04)
    assert "No shape was recorded" in view.tables["instances"].null_reasons["input_shapes"]
    facts = {fact.key: fact.value for fact in view.facts}
    assert facts["shapes_source"] == "dynamic_shape_info_0.json"


def test_a_time_that_is_not_told_is_not_0() -> None:
    calls = {"1": [{"step": 1, "op_type": "Add", "op_name": "Add-op1", "shape_info": ["[2]"]}]}
    text = json.dumps({"operator": calls})
    (row,) = rows(
        shapes(opened(folder_of({"dynamic_shape_info_0.json": text})), Selection()), "types"
    )
    assert (row["calls"], row["time_us"], row["mean_us"]) == (1, None, None)
    assert row["call_mean_us"] is None


def test_why_there_are_none() -> None:
    actual = SPEC.missing(trace([step(1, 0, 10), op("aten::mm", 1, 2)]))
    assert actual is not None
    assert "contains no input shapes" in actual
    assert SPEC.missing(trace([kernel("gemm", 0, 1)])) is not None
    assert SPEC.missing(trace(on_host())) is None


def test_new_shapes_and_compilations_of_each_iteration() -> None:
    """The second iteration has a shape that the first had not, and compiles for it."""
    compiling = [
        op("Torch-Compiled Region: 0/0", 5, 80), op("_compile.compile_inner (dynamo_timed)", 6, 20),
        op("Torch-Compiled Region: 0/1", 104, 90),
        op("_compile.compile_inner (dynamo_timed)", 105, 4),
    ]  # fmt: skip
    table = shapes(trace(on_host()), Selection()).tables["shapes_over_iterations"]
    assert table.frame.select("iteration", "calls", "distinct_shapes", "new_shapes").rows() == [
        ("1", 2, 2, 2), ("2", 2, 2, 1)
    ]  # fmt: skip
    assert table.frame["compilations"].to_list() == [None, None]
    assert "No compilations" in table.null_reasons["recompilations"]
    result = rows(shapes(trace([*on_host(), *compiling]), Selection()), "shapes_over_iterations")
    assert [row["compilations"] for row in result] == [1, 1]
    assert [row["compiling_us"] for row in result] == [20, 4]


def test_one_iteration() -> None:
    view = shapes(trace(on_host()), Selection(), iteration="2")
    assert {row["iteration"] for row in rows(view, "types")} == {"2"}
    assert [row["input_shapes"] for row in rows(view, "instances")] == ["[[8, 8]]", "[[2, 3]]"]
    assert {row["mean_us"] for row in rows(view, "types")} == {50}
    with pytest.raises(SelectionError, match="no iteration '9' with shapes; there are 1, 2"):
        shapes(trace(on_host()), Selection(), iteration="9")
