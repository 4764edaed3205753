"""The share of a row and of all rows with more, against plain sums.

Cases: ties go by the default order; equal values of a column make wholes of their own; of nothing
there is no share; null has none; random tables.
"""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import schema_before, share_columns, with_shares

SPEC = TableSpec(
    "rows",
    "Rows",
    "Rows.",
    (
        Column("name", "Name", "string", None, "Name."),
        Column("total_us", "Total", "number", "us", "Total."),
        *share_columns("Total", "all rows"),
    ),
)


def shares(times: list[float | None], names: list[str] | None = None) -> list[tuple[object, ...]]:
    columns = {"name": names or ["a"] * len(times), "total_us": times}
    table = Table(SPEC, pl.DataFrame(columns, schema=schema_before(SPEC)))
    filled = with_shares(table, "total_us", "nothing", within="name" if names else None)
    assert list(filled.frame.columns) == list(SPEC.polars_schema())
    has_nulls = filled.frame["total_pct"].null_count() > 0
    assert filled.null_reasons == dict.fromkeys(
        ("total_pct", "cumulative_pct") if has_nulls else (), "nothing"
    )
    return filled.frame.select("total_pct", "cumulative_pct").rows()


def test_rows_with_more_time_count_before_whatever_the_order() -> None:
    assert shares([10.0, 70.0, 20.0]) == [(10, 100), (70, 70), (20, 90)]


def test_equals_count_in_the_default_order() -> None:
    assert shares([25.0, 50.0, 25.0]) == [(25, 75), (50, 50), (25, 100)]


def test_equal_values_of_a_column_are_a_whole() -> None:
    names = ["x", "y", "x", "y"]
    assert shares([3.0, 5.0, 1.0, 5.0], names) == [(75, 75), (50, 50), (25, 100), (50, 100)]


def test_of_nothing_there_is_no_share() -> None:
    assert shares([0.0, 0.0]) == [(None, None), (None, None)]
    assert shares([]) == []
    assert shares([None, 4.0]) == [(None, None), (100, 100)]


@given(st.lists(st.integers(0, 10**12) | st.none(), max_size=12))
def test_random_tables(times_ns: list[int | None]) -> None:
    result = shares([None if ns is None else ns / 1000 for ns in times_ns])
    whole = sum(ns or 0 for ns in times_ns)
    for position, (ns, (share, cumulative)) in enumerate(zip(times_ns, result, strict=True)):
        if ns is None or not whole:
            assert (share, cumulative) == (None, None)
            continue
        before = sum(
            other
            for at, other in enumerate(times_ns)
            if other is not None and (other > ns or (other == ns and at <= position))
        )
        assert share == pytest.approx(float(Fraction(ns * 100, whole)), rel=1e-12)
        assert cumulative == pytest.approx(float(Fraction(before * 100, whole)), rel=1e-12)
