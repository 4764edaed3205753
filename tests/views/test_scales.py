"""Multiples of units, by the examples that the pages are tested by too."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import pytest

from torch_tb_profiler.views.scales import MULTIPLES, Multiple, multiple_for
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


@pytest.mark.parametrize("largest", [math.nan, math.inf, 0.0])
def test_what_is_no_size_takes_the_unit(largest: float) -> None:
    assert multiple_for("us", largest) == Multiple("µs", 1)


@pytest.mark.parametrize(
    ("largest", "label"), [(0.5, "ns"), (5, "µs"), (9_999, "µs"), (10_000, "ms"), (1e7, "s")]
)
def test_a_column_may_ask_for_more_than_one_of_a_multiple(largest: float, label: str) -> None:
    assert multiple_for("us", largest, least=10).label == label
