"""Multiples of units, by the examples that the pages are tested by too."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

from torch_tb_profiler.views.scales import (
    MULTIPLES,
    Multiple,
    confidence_text,
    distinguishing_decimals,
    duration_text,
    is_confidence,
    is_moment,
    multiple_for,
    significance_text,
)
from torch_tb_profiler.views.schema import Unit

EXAMPLES = json.loads(
    (Path(__file__).parents[1] / "data" / "scaled_numbers.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_largest_multiple_that_the_value_reaches(example: dict[str, Any]) -> None:
    expected = Multiple(example["label"], example["divisor"])
    assert multiple_for(example["unit"], example["largest"]) == expected


def test_every_unit_has_an_example_and_is_a_multiple_of_itself() -> None:
    assert set(MULTIPLES) == set(get_args(Unit)) == {e["unit"] for e in EXAMPLES} - {None}
    for multiples in MULTIPLES.values():
        divisors = [multiple.divisor for multiple in multiples]
        assert divisors == sorted(divisors)
        assert 1 in divisors


def test_neighbouring_multiples_differ_by_a_thousand_or_1024() -> None:
    for unit, multiples in MULTIPLES.items():
        factor = 1024 if unit == "bytes" else 1000
        for below, above in pairwise(multiples):
            ratio = factor**2 if below.label == "FLOP" else factor  # no kFLOP: FLOP, MFLOP, …
            assert above.divisor == pytest.approx(below.divisor * ratio, rel=1e-12)


@pytest.mark.parametrize("largest", [math.nan, math.inf, 0.0])
def test_what_is_no_size_takes_the_unit(largest: float) -> None:
    assert multiple_for("us", largest) == Multiple("µs", 1)


@pytest.mark.parametrize(
    ("largest", "label"), [(0.5, "ns"), (5, "µs"), (9_999, "µs"), (10_000, "ms"), (1e7, "s")]
)
def test_a_column_may_ask_for_more_than_one_of_a_multiple(largest: float, label: str) -> None:
    assert multiple_for("us", largest, least=10).label == label


@pytest.mark.parametrize(
    ("duration_us", "text"),
    [
        (0, "0 µs"),
        (0.5, "500 ns"),
        (12.34, "12.3 µs"),
        (59_300, "59.3 ms"),
        (1_500_000, "1.50 s"),
        (90e6, "90.0 s"),
    ],
)
def test_a_duration_in_its_unit(duration_us: float, text: str) -> None:
    assert duration_text(duration_us) == text


@pytest.mark.parametrize(
    ("pct", "text"),
    [(7.61, "7.6 %"), (99.94, "99.9 %"), (99.96, ">99.9 %"), (100.0, ">99.9 %"), (0.0, "0.0 %")],
)
def test_no_confidence_reads_as_certain(pct: float, text: str) -> None:
    assert confidence_text(pct) == text


@pytest.mark.parametrize(
    ("pct", "text"),
    [
        (7.61, "not significant (p = 0.92)"),
        (94.96, "not significant (p = 0.050)"),
        (95.0, "significant (p = 0.050)"),
        (99.5, "significant (p = 0.005)"),
        (99.96, "significant (p < 0.001)"),
        (100.0, "significant (p < 0.001)"),
    ],
)
def test_significance_is_in_words(pct: float, text: str) -> None:
    assert significance_text(pct) == text


@pytest.mark.parametrize(
    ("values", "unit", "divisor", "decimals"),
    [
        ([1000, 1250], "us", 1e3, 1),
        ([1000, 1050], "us", 1e3, 2),
        ([5, 1000, 1050], "us", 1e3, 2),
        ([1000, 1050, 1050], "us", 1e3, 2),
        ([0.0, 0.0001], "us", 1e3, 6),  # a whole ns is the sixth decimal of a ms
        ([1, 2], "ns", 1, 0),
        ([1, 2], "ns", 1e3, 3),
        ([1.0, 1e6], "us", 1, 0),
        ([3.0, 3.0, None], "us", 1, 0),
        ([], "us", 1, 0),
        ([0.25, 0.5], None, 1, 0),
        ([0.25, 0.5], "pct", 1, 0),
    ],
)
def test_decimals_with_which_values_differ(
    values: list[float | None], unit: Unit | None, divisor: float, decimals: int
) -> None:
    series = pl.Series(values, dtype=pl.Float64)
    assert distinguishing_decimals(series, unit, divisor) == decimals


@pytest.mark.parametrize("key", ["start_us", "end_ns", "peak_us", "kernel_start_us"])
def test_a_moment(key: str) -> None:
    assert is_moment(key)


@pytest.mark.parametrize("key", ["duration_us", "restart_us", "start_us_total", "start"])
def test_no_moment(key: str) -> None:
    assert not is_moment(key)


def test_what_says_how_sure_something_is() -> None:
    assert is_confidence("confidence_pct")
    assert is_confidence("confidence_change_pct")
    assert not is_confidence("confidence")
    assert not is_confidence("share_pct")
