"""Views as bytes: what comes back prints as what went in, in every format, for every view of real
recordings of several devices; tables that can compute more rows still can."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.loading.queries.views import trace_view, with_rows
from torch_tb_profiler.reports import json, markdown, terminal
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject, TableQuery
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import (
    Column,
    ColumnSum,
    Fact,
    Line,
    Note,
    Series,
    Table,
    TableSpec,
    View,
)
from torch_tb_profiler.views.spec import ViewSpec
from torch_tb_profiler.views.view_bytes import from_bytes, to_bytes

FILES = (
    "h100_bert_small/rank0.pt.trace.json.gz",
    "mi300_bert_small/rank0.pt.trace.json.gz",
    "cpu_ddp4_gloo/rank2.1795226204995313222.pt.trace.json.gz",
)
NUMBERS = TableSpec(
    "numbers", "Numbers", "A number.", (Column("number", "Number", "integer", None, "It."),)
)


def printed(spec: ViewSpec, view: View) -> list[bytes | str]:
    """A view in every format, and each of its tables with all rows."""
    tables = [with_rows(view, TableQuery(table=name)) for name in view.tables]
    return [
        terminal.dumps(spec, view, "heading"),
        markdown.dumps(spec, view, "heading"),
        *(json.dumps(ViewResult(spec, each, Subject())) for each in (view, *tables)),
    ]


@pytest.mark.parametrize("file", FILES)
def test_every_view_prints_as_before(file: str, samples: Path) -> None:
    path = samples / file
    if not path.exists():
        pytest.skip("needs the sample")
    trace = build_trace(import_trace([path.read_bytes()], name=path.name))
    views = 0
    for spec in all_views().values():
        if spec.scope != "trace":
            continue
        try:
            view = trace_view(spec, trace, Selection())
        except RequestError:
            continue
        views += 1
        again = from_bytes(
            to_bytes(view, spec), spec, partial(trace_view, spec, trace, Selection())
        )
        assert printed(spec, again) == printed(spec, view), spec.name
        assert {name: table.frame.schema for name, table in again.tables.items()} == {
            name: table.frame.schema for name, table in view.tables.items()
        }
    assert views > 8


def no_view(_trace: Trace, _selection: Selection) -> View:
    return View()


def spec_of(*tables: TableSpec) -> ViewSpec:
    return ViewSpec("some", "Some", "?", "trace", tables, no_view)


def made(spec: TableSpec = NUMBERS, rows: int = 3) -> View:
    frame = pl.DataFrame({"number": list(range(rows))}, {"number": pl.Int64})
    sums = {"number": ColumnSum(3, 6.5, 0)}
    return View(
        {"numbers": Table(spec, frame, {"number": "why"}, 9, False, sums)},
        {"curve": Series("T", "line", "x", "us", "y", None, (Line("a", [1, 2.0], [None, 3]),))},
        (Fact("one", "One", 1, None, None, "?"), Fact("two", "Two", 2.0, "us", "GPU 0", "?", "r")),
        (Note("advice", "code", "info", "text", {"rows": [1, 1.0, True, None, {"a": "b"}]}),),
        answer="One of three.",
    )


def test_integers_and_floats_stay_apart() -> None:
    view, spec = made(), spec_of(NUMBERS)
    again = from_bytes(to_bytes(view, spec), spec, made)
    for parts in (
        (view.facts, again.facts),
        (view.series, again.series),
        (view.notes, again.notes),
    ):
        assert repr(parts[0]) == repr(parts[1])
    before, after = view.tables["numbers"], again.tables["numbers"]
    assert after.frame.equals(before.frame)
    assert (after.null_reasons, after.row_count, after.sums) == ({"number": "why"}, 9, before.sums)
    assert repr(after.sums) == repr(before.sums)
    assert again.answer == "One of three."


def test_declarations_of_the_view_come_back_as_they_are_and_others_as_they_were() -> None:
    spec = spec_of(NUMBERS)
    (declared,) = from_bytes(to_bytes(made(), spec), spec, made).tables.values()
    assert declared.spec is NUMBERS
    column = Column("number", "Zahl", "integer", "us", "Sie.", True, "f", True, True, len)  # type: ignore[arg-type]
    other = TableSpec("numbers", "Zahlen", "?", (column,), "-number", ("a", "b"), True, "?", True)
    (changed,) = from_bytes(to_bytes(made(other), spec), spec, made).tables.values()
    assert changed.spec.columns[0].payload() == column.payload()
    for key in set(TableSpec.__struct_fields__) - {"columns"}:
        assert getattr(changed.spec, key) == getattr(other, key)


def test_the_rest_of_the_rows_is_computed_when_it_is_asked_for() -> None:
    spec = spec_of(NUMBERS)

    def compute() -> View:
        (table,) = made().tables.values()
        whole = made(rows=9).tables["numbers"]
        first = Table(table.spec, table.frame, row_count=9, all_rows=lambda: whole)
        return View({"numbers": first})

    again = from_bytes(to_bytes(compute(), spec), spec, compute)
    assert again.tables["numbers"].frame.height == 3
    assert with_rows(again, TableQuery(table="numbers")).tables["numbers"].frame.height == 9
    assert from_bytes(to_bytes(made(), spec), spec, made).tables["numbers"].all_rows is None


def test_other_bytes_are_an_error() -> None:
    for data in (b"", b"\x00", to_bytes(made(), spec_of(NUMBERS))[:-5]):
        with pytest.raises(Exception, match=r".*"):
            from_bytes(data, spec_of(NUMBERS), made)
