"""The evidence of every finding is a declared table that its rows keep to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.detectors.scenes import load
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.detectors import detect_across_workers, evidence_tables, run_detectors
from torch_tb_profiler.evidence.tables import CALLS, build_table, main_reason, sum_calls
from torch_tb_profiler.views.schema import Column, Note, TableSpec

SUFFIXES = {"us": ("_us", "_us_per_step"), "bytes": ("_bytes",), "pct": ("_pct",)}
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
}
MEANS = {"mean_us", "compute_us_per_step", "excess_us", "growth_us", "delay_us", "others_wait_us"}
"""Divided by more than a thousand, or halved by a median."""


@pytest.fixture(scope="module")
def notes(samples: Path) -> list[Note]:
    return list(_notes(samples))


SHOWN = ["key", "title", "type", "unit", "help", "estimated", "family", "hidden", "additive"]
"""What a note says of a column: what pages show, no more."""


def _notes(samples: Path) -> Iterator[Note]:
    for run in sorted({path.parent for path in samples.glob("*/*.gz")}):
        traces = {path.name: load(path) for path in sorted(run.glob("*.gz"))}
        for trace in traces.values():
            yield from run_detectors(trace, Selection()).notes
        yield from detect_across_workers(traces, Selection())


def test_the_samples_have_findings_of_most_kinds(notes: list[Note]) -> None:
    assert len({note.code for note in notes}) >= 9


def test_rows_hold_what_the_table_of_their_note_declares(notes: list[Note]) -> None:
    for note in notes:
        rows, table = note.evidence["rows"], note.evidence["table"]
        assert isinstance(rows, list)
        assert isinstance(table, dict)
        spec = evidence_tables()[note.code]
        assert (table["title"], table["help"]) == (spec.title, spec.help)
        assert [column["key"] for column in table["columns"]] == [
            column.key for column in spec.columns
        ]
        assert {frozenset(column) for column in table["columns"]} == {frozenset(SHOWN)}
        types = {column.key: TYPES[column.type] for column in spec.columns}
        for row in rows:
            assert list(row) == list(types), note.code
            for key, value in row.items():
                assert value is None or type(value) is types[key], (note.code, key, value)


def test_a_column_without_a_value_says_why(notes: list[Note]) -> None:
    for note in notes:
        rows, table = note.evidence["rows"], note.evidence["table"]
        assert isinstance(rows, list)
        assert isinstance(table, dict)
        nulls = {key for row in rows for key, value in row.items() if value is None}
        assert nulls == set(table["null_reasons"]), note.code


def test_microseconds_are_whole_nanoseconds(notes: list[Note]) -> None:
    """A sum of nanoseconds divided once is the double nearest to its three decimals."""
    for note in notes:
        rows = note.evidence["rows"]
        assert isinstance(rows, list)
        for row in rows:
            for key, value in row.items():
                if key.endswith("_us") and key not in MEANS and value is not None:
                    assert value == float(f"{value:.3f}"), (note.code, key, value)


@pytest.mark.parametrize("code", evidence_tables())
def test_every_column_is_declared_with_its_unit_in_its_key(code: str) -> None:
    spec = evidence_tables()[code]
    assert spec.title
    assert spec.help.endswith(".")
    keys = [column.key for column in spec.columns]
    assert len(set(keys)) == len(keys)
    titles = [column.title for column in spec.columns]
    assert len(set(titles)) == len(titles)
    for column in spec.columns:
        assert column.title
        assert column.help.endswith(".")
        for unit, suffixes in SUFFIXES.items():
            assert (column.unit == unit) == column.key.endswith(suffixes), (code, column.key)


SUMS = {"total_us", "wait_us", "total_bytes"}
"""Of many calls: larger than what is said of one, beside which they stand."""


@pytest.mark.parametrize("code", evidence_tables())
def test_what_is_read_together_is_shown_in_one_unit(code: str) -> None:
    for unit in ("us", "bytes"):
        measures = [
            column
            for column in evidence_tables()[code].columns
            if column.unit == unit and column.key not in SUMS
        ]
        families = {column.family for column in measures}
        assert len(measures) < 2 or (len(families) == 1 and None not in families), families


def test_a_filled_table_has_its_columns_alone_in_their_order_and_types() -> None:
    spec = TableSpec("t", "T", "Rows.", (Column("b", "B", "number", None, "B."), CALLS))
    table = build_table(
        spec,
        pl.DataFrame({"calls": [1, 2], "other": "x", "b": [1, None]}),
        {"b": "Unknown.", "calls": "Never."},
    )
    assert table.frame.rows() == [(1.0, 1), (None, 2)]
    assert table.frame.schema == {"b": pl.Float64, "calls": pl.Int64}
    assert table.null_reasons == {"b": "Unknown."}


def test_slices_are_grouped_with_times_that_are_whole_nanoseconds() -> None:
    slices = pl.DataFrame({"name": ["a", "b", "b"], "dur_ns": [9087, 9000, 88]})
    groups = sum_calls(slices, "name", most=pl.col("dur_ns").max())
    assert groups.select("name", "calls", "total_us", "most").rows() == [
        ("b", 2, 9.088, 9000),
        ("a", 1, 9.087, 9087),
    ]


def test_the_main_reason_has_most_of_the_time() -> None:
    rows = pl.DataFrame({"reason": ["x", "y", "x"], "total_us": [2.0, 3.0, 2.0]})
    assert main_reason(rows) == "x"
    assert main_reason(rows.head(2)) == "y"
