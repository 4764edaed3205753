"""Workbooks, read back by a small reader of their XML: typed cells, no formulas, sheet names."""

from __future__ import annotations

import io
import zipfile

import polars as pl

from tests.helpers.export_readers import workbook
from tests.helpers.hostile_names import ALL_NAMES, utf8
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.reports.xlsx import MAX_TEXT, Sheet, dumps
from torch_tb_profiler.views.schema import Column, Table, TableSpec

SPEC = TableSpec(
    "things",
    "Things",
    "A row is a thing.",
    (
        Column("name", "Name", "string", None, "What."),
        Column("time_us", "Time", "number", "us", "How long.", estimated=True),
        Column("calls", "Calls", "integer", "count", "How often."),
        Column("is_odd", "Odd", "boolean", None, "Whether."),
    ),
)
FORMULAS = ["=1+1", "@SUM(A1)", "+1", "-1", "http://x.y", '=HYPERLINK("http://x")', "a\x00b\u202e"]


def _table() -> Table:
    rows = [(name, 1.5, 3, True) for name in FORMULAS] + [(None, float("nan"), None, None)]
    return Table(SPEC, pl.DataFrame(rows, SPEC.polars_schema(), orient="row"))


def test_cells_have_the_types_of_their_columns_and_no_text_is_a_formula() -> None:
    rows = workbook(dumps([("Overview", "=1+1")], [Sheet("things", _table())]))["things"]
    assert [text for _, text in rows[0]] == ["Name", "est. Time [µs]", "Calls", "Odd"]
    assert rows[1] == [("s", "=1+1"), ("n", "1.5"), ("n", "3"), ("b", "1")]
    assert [row[0][1] for row in rows[1:8]] == [*FORMULAS[:-1], "a\\x00b\\u202e"]
    assert len(rows) == 8, "a null is no cell, and a row of nulls no row"


def test_the_first_sheet_says_what_the_others_are() -> None:
    sheets = workbook(
        dumps([("Overview", "run · worker0"), ("", "=answer")], [Sheet("t", _table())])
    )
    overview, answer = sheets["About"]
    assert overview == [("s", "Overview"), ("s", "run · worker0")]
    assert answer[-1] == ("s", "=answer")


def test_names_of_sheets_are_valid_and_different() -> None:
    names = ["a/b:c", "A_B_C", "x" * 40, "x" * 40, "About", "'", "y" * 30 + "'z", "History"]
    sheets = list(workbook(dumps([], [Sheet(name, _table()) for name in names])))
    assert sheets == [
        "About",
        "a_b_c",
        "A_B_C~2",
        "x" * 31,
        "x" * 29 + "~2",
        "About~2",
        "table",
        "y" * 30,
        "History~",
    ]
    assert len({name.lower() for name in sheets}) == len(sheets)


def test_the_header_stays_in_sight_and_equal_tables_give_equal_files() -> None:
    data = dumps([], [Sheet("things", _table())])
    page = zipfile.ZipFile(io.BytesIO(data)).read("xl/worksheets/sheet2.xml").decode()
    assert 'state="frozen"' in page
    assert data == dumps([], [Sheet("things", _table())])


def test_every_hostile_name_is_a_text_of_its_cell() -> None:
    names = [utf8(name) for name in ALL_NAMES]
    frame = pl.DataFrame(
        [(name, -1.5, -1, None) for name in names], SPEC.polars_schema(), orient="row"
    )
    sheets = workbook(dumps([(name, name) for name in names], [Sheet("t", Table(SPEC, frame))]))
    shown = [visible(name)[:MAX_TEXT] for name in names]
    assert [row[0] for row in sheets["t"][1:]] == [("s", name) for name in shown]
    assert {tuple(row[1:3]) for row in sheets["t"][1:]} == {(("n", "-1.5"), ("n", "-1"))}
    assert [row[0] for row in sheets["About"]] == [("s", name) for name in shown]
