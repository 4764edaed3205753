"""The generic table parameters, against worked cases and a plain-Python reference.

Cases: default order, sort keys and directions, nulls last, ties; every operator on every type;
free text; escapes; nulls and negation; other names of kernels; sums; offset, limit, row_count;
each error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import eq, gt, lt
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from torch_tb_profiler.requests.views import table_payload
from torch_tb_profiler.views.name_columns import OTHER_NAMES
from torch_tb_profiler.views.querying import QueryError, in_default_order, query
from torch_tb_profiler.views.schema import Column, ColumnSum, Table, TableSpec

SPEC = TableSpec(
    "things",
    "Things",
    "One row per thing.",
    (
        Column("name", "Name", "string", None, "Its name."),
        Column("place", "Place", "string", None, "Where."),
        Column("calls", "Calls", "integer", "count", "How often."),
        Column("total_us", "Total", "number", "us", "How long."),
        Column("tensor_core_used", "Tensor Cores", "boolean", None, "Whether."),
    ),
    sort="-total_us,name",
)
ROWS = [
    ("Gemm", "a;b", 10, 1.5, True),
    ("volta_gemm<float>", None, 3, None, None),
    ("conv", "C:\\dir", 7, 20.0, False),
    ("copy = x", "gemm house", None, 1.5, False),
]


def table(rows: Sequence[tuple[object, ...]] = ROWS) -> Table:
    return Table(SPEC, pl.DataFrame(rows, schema=SPEC.polars_schema(), orient="row"))


def names(**parameters: Any) -> list[str]:
    return query(table(), **parameters).frame["name"].to_list()


def test_nothing_asked_keeps_rows_and_counts_them() -> None:
    answer = query(table())
    assert answer.frame.rows() == ROWS
    assert answer.row_count == 4


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("calls", ["volta_gemm<float>", "conv", "Gemm", "copy = x"]),
        ("-calls", ["Gemm", "conv", "volta_gemm<float>", "copy = x"]),
        ("name", ["conv", "copy = x", "Gemm", "volta_gemm<float>"]),
        ("-total_us, name", ["conv", "copy = x", "Gemm", "volta_gemm<float>"]),
        ("-total_us,-name", ["conv", "Gemm", "copy = x", "volta_gemm<float>"]),
        ("total_us", ["Gemm", "copy = x", "conv", "volta_gemm<float>"]),
        ("tensor_core_used", ["conv", "copy = x", "Gemm", "volta_gemm<float>"]),
    ],
)
def test_sort(sort: str, expected: list[str]) -> None:
    assert names(sort=sort) == expected


def test_default_order_is_the_declared_one() -> None:
    assert in_default_order(table()).frame["name"].to_list() == names(sort=SPEC.sort)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name~GEMM", ["Gemm", "volta_gemm<float>"]),
        ("name!~gemm", ["conv", "copy = x"]),
        ("gemm", ["Gemm", "volta_gemm<float>", "copy = x"]),
        ("name=gemm", ["Gemm"]),
        ("name!=gemm", ["volta_gemm<float>", "conv", "copy = x"]),
        ("name>=copy = x", ["Gemm", "volta_gemm<float>", "copy = x"]),
        ("calls>=7", ["Gemm", "conv"]),
        ("calls>7", ["Gemm"]),
        ("calls<=7", ["volta_gemm<float>", "conv"]),
        ("calls<7", ["volta_gemm<float>"]),
        ("calls=7.0", ["conv"]),
        ("calls!=7", ["Gemm", "volta_gemm<float>", "copy = x"]),
        ("calls<99999999999999999999", ["Gemm", "volta_gemm<float>", "conv"]),
        ("total_us=1.5", ["Gemm", "copy = x"]),
        ("total_us>1e0;total_us<2", ["Gemm", "copy = x"]),
        ("tensor_core_used=yes", ["Gemm"]),
        ("tensor_core_used=No", ["conv", "copy = x"]),
        ("tensor_core_used!=yes", ["volta_gemm<float>", "conv", "copy = x"]),
        ("tensor_core_used=-", ["volta_gemm<float>"]),
        ("place=-", ["volta_gemm<float>"]),
        ("place!=-", ["Gemm", "conv", "copy = x"]),
        ("place!~gemm", ["Gemm", "volta_gemm<float>", "conv"]),
        (r"place~a\;b", ["Gemm"]),
        (r"place~c:\dir", ["conv"]),
        (r"place~c:\\dir", ["conv"]),
        (r"gemm\<float>", ["volta_gemm<float>"]),
        (r"copy \= x", ["copy = x"]),
        ("name~<float>", ["volta_gemm<float>"]),
        (" name ~ gemm ; calls >= 4 ", ["Gemm"]),
        (";; ;", ["Gemm", "volta_gemm<float>", "conv", "copy = x"]),
        ("name~.*", []),
        ("name~", ["Gemm", "volta_gemm<float>", "conv", "copy = x"]),
    ],
)
def test_filter(text: str, expected: list[str]) -> None:
    assert names(filter=text) == expected


def test_whole_numbers_beyond_the_doubles_are_compared_exactly() -> None:
    rows = [(str(calls), None, calls, None, None) for calls in (2**53, 2**53 + 1, 2**63 - 1)]
    for number in (2**53, 2**53 + 1, 2**63 - 1):
        shown = query(table(rows), filter=f"calls={number}").frame
        assert shown["calls"].to_list() == [number]


def test_paging_comes_after_filter_and_sort() -> None:
    answer = query(table(), filter="calls!=-", sort="calls", offset=1, limit=1)
    assert answer.frame["name"].to_list() == ["conv"]
    assert answer.row_count == 3
    assert query(table(), offset=9).frame.height == 0
    assert query(table(), limit=0).row_count == 4
    assert query(table(), offset=10**30).frame.height == 0
    assert query(table(), offset=1, limit=10**30).frame.height == 3


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"sort": "cals"}, ["sort", "cals", "calls, total_us"]),
        ({"sort": "name,"}, ["sort", "empty key"]),
        ({"filter": "cals>1"}, ["filter", "cals", "calls, total_us", "backslash"]),
        ({"filter": "calls~1"}, ["filter", "calls is not a text column"]),
        ({"filter": "calls>many"}, ["filter", "calls is a number", "many"]),
        ({"filter": "calls>nan"}, ["filter", "calls is a number"]),
        ({"filter": "tensor_core_used=maybe"}, ["filter", "tensor_core_used=yes"]),
        ({"filter": "tensor_core_used>yes"}, ["filter", "tensor_core_used=yes"]),
        ({"offset": -1}, ["offset", "-1"]),
        ({"limit": -5}, ["limit", "-5"]),
        ({"limit": -1}, ["limit", "-1"]),
    ],
)
def test_errors_name_the_parameter_and_the_cause(
    parameters: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(QueryError) as caught:
        query(table(), **parameters)
    assert caught.value.parameter == words[0]
    for word in words:
        assert word in str(caught.value)


def test_free_text_needs_a_text_column() -> None:
    spec = TableSpec("n", "N", "", (SPEC.columns[2],))
    with pytest.raises(QueryError, match="this table has no text column"):
        query(Table(spec, pl.DataFrame({"calls": [1]})), filter="x")


cells = st.none() | st.integers(-3, 3)


@given(st.lists(st.tuples(cells, cells), max_size=12), st.integers(-3, 3), st.sampled_from("=<>"))
def test_a_clause_and_plain_python_agree(
    rows: list[tuple[int | None, int | None]], bound: int, operator: str
) -> None:
    filled = table([("x", None, a, b, None) for a, b in rows])
    holds = {"=": eq, "<": lt, ">": gt}[operator]
    expected = [a for a, _ in rows if a is not None and holds(a, bound)]
    retained = query(filled, filter=f"calls{operator}{bound}").frame["calls"].to_list()
    assert retained == expected


@given(st.lists(st.tuples(cells, cells), max_size=12), st.booleans(), st.booleans())
def test_sorting_and_plain_python_agree(
    rows: list[tuple[int | None, int | None]], down_calls: bool, down_total: bool
) -> None:
    def key(cell: float | None, down: bool) -> tuple[bool, float]:
        return (cell is None, 0 if cell is None else -cell if down else cell)

    sort = f"{'-' if down_calls else ''}calls,{'-' if down_total else ''}total_us"
    answer = query(table([("x", None, a, b, None) for a, b in rows]), sort=sort).frame
    expected = sorted(rows, key=lambda row: (key(row[0], down_calls), key(row[1], down_total)))
    assert answer.select("calls", "total_us").rows() == expected


@given(st.text(alphabet='abAB;\\~!=<>" *.', max_size=6), st.text(alphabet="abAB;\\=<", max_size=8))
def test_escaped_text_is_found_where_it_stands(needle: str, name: str) -> None:
    escaped = "".join("\\" + c if c in ";\\~!=<>" else c for c in needle)
    result = query(table([(name, None, 1, 1.0, None)]), filter=f"name~{escaped}").frame.height
    assert result == (needle.strip().lower() in name.lower())


VECTORS = json.loads(
    (Path(__file__).parents[1] / "data" / "filter_grammar.json").read_text("utf-8")
)
"""What the grammar means here and in the pages."""


def vector_table() -> Table:
    columns = tuple(
        Column(column["key"], column["key"], column["type"], None, "One of them.")
        for column in VECTORS["columns"]
    )
    spec = TableSpec("vectors", "Vectors", "Odd rows.", columns)
    rows = [tuple(row) for row in VECTORS["table"]]
    return Table(spec, pl.DataFrame(rows, schema=spec.polars_schema(), orient="row"))


@pytest.mark.parametrize(
    ("vectors", "parameter"), [("filters", "filter"), ("expressions", "filter"), ("sorts", "sort")]
)
def test_the_grammar_means_what_it_means_in_the_pages(vectors: str, parameter: str) -> None:
    table = vector_table()
    place = {row: index for index, row in enumerate(table.frame.rows())}
    for vector in VECTORS[vectors]:
        text = vector["text"]
        if "error" in vector:
            with pytest.raises(QueryError) as caught:
                query(table, **{parameter: text})
            assert caught.value.parameter == vector["error"], text
        else:
            rows = query(table, **{parameter: text}).frame.rows()
            assert [place[row] for row in rows] == vector["rows"], text


NAMED = TableSpec("k", "K", "", (SPEC.columns[0], *OTHER_NAMES, SPEC.columns[2]), sort="name")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name~FunctorOn", ["_Z1f"]),
        ("name~void", ["_Z1f"]),
        ("name~_z1f", ["_Z1f"]),
        ("name!~void", ["gemm"]),
        ("name=~/^add</", ["_Z1f"]),
        ("name!=~/^add<|^gemm/", []),
        ("name=add<FunctorOnly>", []),
    ],
)
def test_what_is_looked_for_inside_a_name_is_looked_for_in_all_names(
    text: str, expected: list[str]
) -> None:
    rows = [("_Z1f", "add<FunctorOnly>", "void add<>(int)", 1), ("gemm", "gemm", None, 2)]
    named = Table(NAMED, pl.DataFrame(rows, schema=NAMED.polars_schema(), orient="row"))
    assert query(named, filter=text).frame["name"].to_list() == expected


SUMMED = TableSpec(
    "s", "S", "", tuple(replace(each, additive=each.unit is not None) for each in SPEC.columns)
)


@given(st.lists(st.tuples(cells, cells), max_size=12), st.integers(-3, 3), st.integers(0, 5))
def test_sums_are_those_of_the_rows_that_pass_and_of_all(
    rows: list[tuple[int | None, int | None]], bound: int, limit: int
) -> None:
    frame = table([("x", None, a, b, None) for a, b in rows]).frame
    answer = query(Table(SUMMED, frame), filter=f"calls>{bound}", offset=1, limit=limit)
    passing = [row for row in rows if row[0] is not None and row[0] > bound]
    expected = {
        key: ColumnSum(
            total([row[place] for row in passing]),
            total([row[place] for row in rows]),
            sum(row[place] is None for row in passing),
        )
        for place, key in enumerate(("calls", "total_us"))
    }
    assert answer.sums == expected


def total(values: list[int | None]) -> int | None:
    """The sum of what is known; None where there are rows and nothing is."""
    known = [value for value in values if value is not None]
    return None if values and not known else sum(known)


def test_the_json_has_sums_where_columns_add_up() -> None:
    assert table_payload(table()).sums is msgspec.UNSET
    sums = table_payload(Table(SUMMED, table().frame)).sums
    assert sums == {"calls": ColumnSum(20, 20, 1), "total_us": ColumnSum(23.0, 23.0, 1)}


def test_a_text_without_a_key_is_looked_for_in_what_is_shown() -> None:
    hidden = Column("type", "Type", "string", None, "Its type.", hidden=True)
    spec = TableSpec("t", "T", "One.", (Column("name", "Name", "string", None, "It."), hidden))
    table = Table(spec, pl.DataFrame({"name": ["aten::resize_"], "type": ["convolution"]}))
    result = [query(table, filter=text).frame.height for text in ("resize", "conv", "type~conv")]
    assert result == [1, 0, 1]
    assert query(table, filter="=~/conv/").frame.is_empty()
