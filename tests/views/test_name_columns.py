"""Which of a kernel's names is shown."""

from __future__ import annotations

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.views.name_columns import (
    AS_RECORDED,
    DEMANGLED,
    OTHER_NAMES,
    SHORT,
    shown_names,
    with_other_names,
)
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NAME = Column("name", "Name", "string", None, "Name.")


def table_of(*rows: tuple[str, str | None, str | None]) -> Table:
    columns = (NAME, *OTHER_NAMES)
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(("name", SHORT, DEMANGLED), pl.String), orient="row"
    )
    return Table(TableSpec("kernels", "Kernels", "One row each.", columns), frame)


def test_the_chosen_name_or_the_recorded_one_of_rows_that_have_no_other() -> None:
    table = table_of(("_Z1fIiEvT_", "f<int>", "void f<int>(int)"), ("Memset", None, None))
    shown = [shown_names(table, mode) for mode in ("short", "demangled", "recorded")]
    assert [None if names is None else names.to_list() for names in shown] == [
        ["f<int>", "Memset"],
        ["void f<int>(int)", "Memset"],
        None,
    ]


def test_other_names_by_the_name_itself() -> None:
    table = table_of(("_Z1fIiEvT_", None, None), ("gloo:all_reduce", None, None))
    filled = with_other_names(table, {"_Z1fIiEvT_": "f<int>"})
    assert filled.frame.rows() == [
        ("_Z1fIiEvT_", "f<int>", "void f<int>(int)"),
        ("gloo:all_reduce", None, None),
    ]
    assert filled.null_reasons == {DEMANGLED: AS_RECORDED}
    nothing = with_other_names(replace(table, frame=table.frame.clear()), {})
    assert nothing.frame.schema == table.frame.schema


def test_a_table_without_other_names_is_shown_as_it_is() -> None:
    table = Table(
        TableSpec("steps", "Steps", "One row each.", (NAME,)), pl.DataFrame({"name": ["Step 1"]})
    )
    assert shown_names(table, "short") is None
