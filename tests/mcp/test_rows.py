"""Cases: numbers; units in headers; nulls with reasons; sums; what does not fit is in a file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.helpers.mcp_answers import rows_of
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.mcp.answer_text import AnswerText
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.rows import TablePage, add_table, fact_line, header_text, number_text
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.storage.shared_cache import open_cache
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec, Unit

SPEC = TableSpec(
    "kernels",
    "Kernels",
    "One row per kernel.",
    (
        Column("name", "Name", "string", None, "Name."),
        Column("calls", "Calls", "integer", "count", "Calls.", additive=True),
        Column("total_us", "Total", "number", "us", "Time.", additive=True),
        Column("rate", "Rate", "number", "gb_per_s", "Rate.", estimated=True),
        Column("ratio_pct", "Share", "number", "pct", "Share.", hidden=True),
    ),
)
REASON = "The recording has no sizes."


def table(rows: int) -> Table:
    frame = pl.DataFrame(
        {
            "name": [f"kernel {row} {'x' * 50}" for row in range(rows)],
            "calls": range(rows),
            "total_us": [row / 1000 for row in range(rows)],
            "rate": [None if row == 0 else float(row) for row in range(rows)],
            "ratio_pct": [0.5] * rows,
        },
        schema=SPEC.polars_schema(),
    )
    return Table(SPEC, frame, {"rate": REASON})


def context(cache: Path | None = None) -> ToolContext:
    folder = None if cache is None else open_cache(cache)
    return ToolContext(Catalog([], cache=None), folder)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_234_567, "count", "1234567"),
        (1.0, "us", "1"),
        (1419247332500.684, "us", "1419247332500.684"),
        (0.001, "us", "0.001"),
        (50.0, "pct", "50"),
        (33.333333333, "pct", "33.3333"),
        (123456789.25, "gb_per_s", "123456789.25"),
        (452809.049, None, "452809.049"),
        (1e-9, "ratio", "1e-09"),
    ],
)
def test_numbers(value: float, unit: Unit, text: str) -> None:
    assert number_text(value, unit) == text


def test_headers_have_units_and_estimates() -> None:
    assert [header_text(column) for column in SPEC.columns] == [
        "name",
        "calls",
        "total_us",
        "rate [gb_per_s] (est.)",
        "ratio_pct",
    ]


def test_a_table_with_nulls_sums_and_hidden_columns() -> None:
    answer = AnswerText()
    add_table(answer, context(), TablePage("kernels.kernels", query(table(3), limit=2)))
    text = answer.text()
    assert text.startswith("kernels.kernels (Kernels): One row per kernel.\nRows 1 to 2 of 3,")
    rows = rows_of(text, "name")
    assert [(row["calls"], row["total_us"]) for row in rows] == [("0", "0"), ("1", "0.001")]
    assert [row["rate [gb_per_s] (est.)"] for row in rows] == ["null", "1"]
    assert f"null: rate: {REASON}" in text
    assert "Sums over all 3 rows: calls = 3, total_us = 0.003." in text
    assert "Further columns on request: ratio_pct." in text
    assert text.endswith("1 more rows: offset=2.")


def test_an_unknown_column_has_near_ones() -> None:
    page = TablePage("kernels.kernels", table(3), columns=("total",))
    with pytest.raises(LoadingError) as caught:
        add_table(AnswerText(), context(), page)
    assert "total_us" in str(caught.value.problem.hint)


def test_rows_that_do_not_fit_are_in_a_file_with_all_others(tmp_path: Path) -> None:
    answer = AnswerText(2_000)
    whole = table(300)
    page = TablePage("kernels.kernels", query(whole, limit=100), whole=lambda: whole)
    add_table(answer, context(tmp_path), page)
    text = answer.text()
    assert len(text.encode()) <= 2_000
    shown = len(rows_of(text, "name"))
    assert 5 < shown < 100
    assert f"rows {shown + 1} to 100 of kernels.kernels; ask with offset={shown}" in text
    path = Path(text.partition("columns are in ")[2].partition(" (CSV")[0])
    assert path.is_relative_to(tmp_path)
    rows = path.read_bytes().decode().split("\r\n")
    assert rows[0] == "name,calls,total_us,rate,ratio_pct"
    assert len(rows) == 302  # with header, and the end of the last line
    assert rows[300].split(",")[1] == "299"


def test_without_a_cache_there_is_no_file() -> None:
    answer = AnswerText(2_000)
    add_table(answer, context(), TablePage("kernels.kernels", table(300)))
    assert "there is no file, as the server runs without a cache" in answer.text()


def test_facts() -> None:
    assert fact_line(Fact("step_us", "", 1.25, "us", None, "")) == "step_us = 1.25"
    assert fact_line(Fact("rate", "", 2.0, "gb_per_s", "GPU 0", "")) == "rate (GPU 0) = 2 gb_per_s"
    assert fact_line(Fact("mfu_pct", "", None, "pct", None, "", REASON)) == (
        f"mfu_pct = null: {REASON}"
    )
