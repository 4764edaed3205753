"""CSV, read back with the standard library's own reader: every value comes back as it was."""

from __future__ import annotations

import csv
import io
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.export_readers import formulas
from tests.helpers.hostile_names import NAMES, utf8
from torch_tb_profiler.reports import csv as csv_report
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.views.schema import Column, Table, TableSpec

SPEC = TableSpec(
    "kernels",
    "Kernels",
    "A row is a kernel.",
    (
        Column("name", "Name", "string", None, "Which."),
        Column("calls", "Calls", "integer", "count", "How often."),
        Column("total_us", "Total", "number", "us", "How long."),
        Column("tensor_core_used", "Tensor Cores", "boolean", None, "Whether."),
    ),
)
Row = tuple[str | None, int | None, float | None, bool | None]


def _read(rows: list[Row]) -> list[list[str]]:
    frame = pl.DataFrame(rows, SPEC.polars_schema(), orient="row")
    text = csv_report.dumps(Table(SPEC, frame)).decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_keys_are_the_header_and_values_are_exact() -> None:
    assert _read([("a", 3, 1234567.891, True), ("b", None, None, None)]) == [
        ["name", "calls", "total_us", "tensor_core_used"],
        ["a", "3", "1234567.891", "true"],
        ["b", "", "", ""],
    ]


def test_lines_end_as_rfc_4180_says_also_without_rows() -> None:
    frame = pl.DataFrame(schema=SPEC.polars_schema())
    assert csv_report.dumps(Table(SPEC, frame)) == b"name,calls,total_us,tensor_core_used\r\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1", "'＝1"),
        (" \u200b=1", "' \u200b=1"),
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\\r'=1"),
        ("a;=1", "a;'=1"),
        ('a\n"=1"', 'a\n"\'=1"'),
        ("\x1b[2J\x9b1m\x00", "\\x1b[2J\\x9b1m\\x00"),
        ("a=1;b = -2", "a=1;b = -2"),
        ("operator+", "operator+"),
    ],
)
def test_a_text_that_a_spreadsheet_would_run_is_quoted(text: str, written: str) -> None:
    assert _read([(text, -1, -1.5, False)])[1] == [written, "-1", "-1.5", "false"]


@given(st.lists(st.text("=+-@＝'\";, \t\r\n\x00\u200ba1"), min_size=1, max_size=3))
def test_no_text_is_a_formula_whatever_separates_cells(names: list[str]) -> None:
    rows: list[Row] = [(name, -1, -1.5, None) for name in names]
    frame = pl.DataFrame(rows, SPEC.polars_schema(), orient="row")
    assert list(formulas(csv_report.dumps(Table(SPEC, frame)).decode())) == []


def test_every_hostile_name_is_text_and_can_be_read() -> None:
    for name in map(utf8, NAMES):
        frame = pl.DataFrame({"name": [name, name], "again": [name, name]})
        text = csv_report.frame_csv(frame).decode()
        assert list(formulas(text)) == [], ascii(name)
        back = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        plain = name.replace("'", "")
        for control in map(chr, [*range(0x20), *range(0x7F, 0xA0)]):
            if control not in "\t\n":
                plain = plain.replace(control, visible(control))
        assert [[cell.replace("'", "") for cell in row] for row in back[1:]] == [[plain] * 2] * 2


def test_nan_and_infinities_are_empty() -> None:
    rows = _read([("a", 1, math.nan, None), ("b", 1, math.inf, None)])
    assert [row[2] for row in rows[1:]] == ["", ""]


@given(
    st.lists(
        st.tuples(
            st.text(
                st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="'"), min_size=1
            ),
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_everything_else_comes_back_as_it_was(rows: list[tuple[str, int, float, bool]]) -> None:
    back = _read(list(rows))[1:]
    assert [(r[0].replace("'", ""), int(r[1]), float(r[2]), r[3] == "true") for r in back] == rows
