"""Tables that are filled from the declarations of their columns."""

from __future__ import annotations

import polars as pl

from tests.helpers.traces import kernel, trace
from torch_tb_profiler.views.filling import Rows, fill, microseconds, text, verdict
from torch_tb_profiler.views.schema import Column, Grouping, TableSpec
from torch_tb_profiler.views.shares import share_columns

BY_GRID = Grouping("name+grid", "launch grid")
SPEC = TableSpec(
    "example",
    "Example",
    "One row per kernel.",
    (
        Column("name", "Name", "string", None, "", value=text("name_code")),
        Column("calls", "Calls", "integer", "count", ""),
        Column("mean_us", "Mean", "number", "us", "", value=microseconds("ns", divisor="calls")),
        Column("used", "Used", "boolean", None, "", value=verdict("use"), null_reason="No rule."),
        Column("grid", "Grid", "string", None, "", null_reason="None.", only_grouped=BY_GRID),
        *share_columns("Mean", "the whole"),
    ),
)


def _rows(group_by: str | None, **more: list[str]) -> Rows:
    opened = trace([kernel("gemm", 0, 5)])
    code = [str(value) for value in opened.strings].index("gemm")
    columns = {"name_code": [code, code], "calls": [4, 0], "ns": [9088, 7], "use": [1, -1]}
    return Rows(opened, pl.DataFrame(columns | more), group_by)


def test_values_follow_from_the_rows() -> None:
    table = fill(SPEC, _rows("name+grid", grid=["1,1,1", "2,1,1"]))
    assert table.frame.rows() == [
        ("gemm", 4, 2.272, True, "1,1,1"),
        ("gemm", 0, None, None, "2,1,1"),
    ]
    assert table.null_reasons == {"used": "No rule."}


def test_a_column_of_another_grouping_is_null_and_names_it() -> None:
    table = fill(SPEC, _rows("name"))
    assert table.frame["grid"].to_list() == [None, None]
    assert table.frame["grid"].dtype == pl.String
    assert table.null_reasons["grid"] == (
        "Rows are not grouped by launch grid: use group_by=name+grid."
    )
