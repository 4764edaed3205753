"""Cells for people: units by the size of the column, no false zeros, nulls as a dash."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.reports.cells import chosen, display_columns, fact_text, scale_for
from torch_tb_profiler.views.schema import Column, Fact, Table, TableSpec, Unit


def _cells(
    unit: Unit | None, values: list[float | None], kind: str = "number"
) -> tuple[str, list[str]]:
    column = Column("x", "X", "integer" if kind == "integer" else "number", unit, "Help.")
    spec = TableSpec("t", "T", "A row.", (column,))
    frame = pl.DataFrame({"x": values}, spec.polars_schema(), strict=False)
    (shown,) = display_columns(Table(spec, frame))
    return shown.unit, list(shown.cells)


@pytest.mark.parametrize(
    ("unit", "values", "label", "cells"),
    [
        ("us", [1.5, 123.456], "µs", ["1.50", "123.46"]),
        ("us", [12_000.0, 0.25, 0.0], "ms", ["12.000", "<0.001", "0.000"]),
        ("us", [12_345_678.9, 1000.0], "s", ["12.346", "0.001"]),
        ("ns", [50_000.0], "µs", ["50.000"]),
        ("bytes", [5 * 2**30, 15 * 2**30], "GiB", ["5.000", "15.000"]),
        ("pct", [33.333, None], "%", ["33.33", "–"]),
        ("count", [math.nan, 2.0], "", ["–", "2"]),
        ("count", [2.5, 2.0], "", ["2.500", "2.000"]),
        ("pct", [99.996, 99.99, 100.0, 100.2], "%", [">99.99", "99.99", "100.00", "100.20"]),
        ("us", [None, None], "µs", ["–", "–"]),
        ("us", [-25_000.0, 0.001], "ms", ["-25.000", "<0.001"]),
        ("us", [-0.0001, 5.0], "µs", [">-0.001", "5.000"]),
    ],
)
def test_one_unit_per_column_by_its_largest_value(
    unit: Unit, values: list[float | None], label: str, cells: list[str]
) -> None:
    assert _cells(unit, values) == (label, cells)


def _texts(key: str, unit: Unit, values: list[float | None]) -> list[str]:
    spec = TableSpec("t", "T", "A row.", (Column(key, "X", "number", unit, "Help."),))
    (shown,) = display_columns(Table(spec, pl.DataFrame({key: values}, spec.polars_schema())))
    return list(shown.cells)


def test_a_confidence_is_never_certain() -> None:
    sure = math.nextafter(100, 0)
    assert _texts("confidence_total_pct", "pct", [sure, 99.96, 95.04, 0.0, None]) == [
        ">99.9",
        ">99.9",
        "95.0",
        "0.0",
        "–",
    ]
    fact = Fact("confidence_total_pct", "Significance", sure, "pct", None, "Help.")
    assert fact_text(fact) == "significant (p < 0.001)"


def test_a_start_to_be_added_to_times_is_whole() -> None:
    fact = Fact("origin_us", "Start", 2_204_338_329_591.049, "us", None, "Help.")
    assert fact_text(fact) == "2,204,338,329,591.049 µs"


def test_times_of_day_keep_the_digits_that_tell_rows_apart() -> None:
    late = [1_234_567_891.0, 1_234_567_895.0, None]
    assert _texts("start_us", "us", late) == ["1,234.567891", "1,234.567895", "–"]
    assert _texts("duration_us", "us", late) == ["1,234.6", "1,234.6", "–"]
    assert _texts("start_us", "us", [12_345_678.001, 12_345_678.002]) == [
        "12.345678001",
        "12.345678002",
    ]
    assert _texts("start_us", "us", [20e6, 30e6]) == ["20.000", "30.000"]
    assert _texts("peak_us", "us", [5.0, 5.0]) == ["5.000", "5.000"]


@given(st.lists(st.integers(0, 10**14), min_size=2, max_size=20, unique=True))
def test_different_times_are_never_written_alike(times_ns: list[int]) -> None:
    texts = _texts("start_us", "us", [ns / 1000 for ns in times_ns])
    assert len(set(texts)) == len(times_ns)


def test_counts_have_no_decimals_and_thousands_are_grouped() -> None:
    assert _cells("count", [1_204_000, 3], "integer") == ("", ["1,204,000", "3"])
    assert _cells(None, [7], "integer") == ("", ["7"])


def test_large_byte_counts_are_scaled_though_whole() -> None:
    assert _cells("bytes", [512, 100], "integer") == ("B", ["512", "100"])
    assert _cells("bytes", [20 * 2**20], "integer") == ("MiB", ["20.000"])


def test_booleans_and_estimates() -> None:
    columns = (
        Column("used", "Used", "boolean", None, "Help."),
        Column("occupancy_pct", "Occupancy", "number", "pct", "Help.", estimated=True),
        Column("eff_pct", "Est. Efficiency", "number", "pct", "Help.", estimated=True),
    )
    spec = TableSpec("t", "T", "A row.", columns)
    frame = pl.DataFrame([(True, 1.0, None), (None, 2.0, None)], spec.polars_schema(), orient="row")
    used, occupancy, efficiency = display_columns(Table(spec, frame))
    assert used.cells == ("yes", "–")
    assert occupancy.title == "est. Occupancy"
    assert efficiency.title == "Est. Efficiency"
    assert not efficiency.has_values
    assert [c.key for c in chosen([used, occupancy], ["occupancy_pct", "nothing", "used"])] == [
        "occupancy_pct",
        "used",
    ]


def test_facts_carry_their_unit_or_their_reason() -> None:
    assert fact_text(Fact("a_pct", "A", 12.345, "pct", None, "Help.")) == "12.35 %"
    assert fact_text(Fact("a_us", "A", 25_000.0, "us", None, "Help.")) == "25.000 ms"
    assert fact_text(Fact("n", "N", 3, "count", None, "Help.")) == "3"
    assert fact_text(Fact("name", "Name", "A100", None, None, "Help.")) == "A100"
    assert fact_text(Fact("a", "A", None, "pct", None, "Help.", "no GPU")) == "– (no GPU)"
    assert fact_text(Fact("a", "A", math.nan, "pct", None, "Help.")) == "–"


def test_a_scale_keeps_digits_of_what_is_ten_times_smaller() -> None:
    scale = scale_for("us", 9_999.0, whole=False)
    assert (scale.label, scale.text(9_999.0)) == ("µs", "9,999.0")


@pytest.mark.parametrize(("unit", "text"), [("us", "0.000"), ("pct", "0.00"), ("count", "0")])
def test_nothing_has_no_sign(unit: Unit, text: str) -> None:
    assert scale_for(unit, 1.0, unit == "count").text(-0.0) == text


def test_columns_of_a_family_have_the_unit_of_the_largest_value_of_all() -> None:
    times = {"min_us": [0.5, 1.0], "mean_us": [900.0, 2000.0], "max_us": [1.5e6, 2000.0]}
    columns = [
        *(Column(key, key, "number", "us", "", family="call") for key in times),
        Column("total_us", "total_us", "number", "us", ""),
        Column("calls", "calls", "number", "count", "", family="call"),
        Column("gaps_us", "gaps_us", "number", "us", "", family="call", hidden=True),
    ]
    spec = TableSpec("t", "T", "", tuple(columns))
    frame = pl.DataFrame({**times, "total_us": [10.0, 20.0], "calls": [5.0, 6.0]})
    frame = frame.with_columns(gaps_us=pl.Series([1e9, 0.0]))
    shown = {column.key: column for column in display_columns(Table(spec, frame))}
    units = {key: column.unit for key, column in shown.items()}
    assert units == {**dict.fromkeys(times, "ms"), "total_us": "µs", "calls": "", "gaps_us": "s"}
    assert shown["min_us"].cells == ("0.000500", "0.001000")
    assert shown["max_us"].cells == ("1,500.0", "2.0")
