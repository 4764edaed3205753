"""Names of ranges that are one iteration each."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.knowledge.iterations import (
    IterationRange,
    iterations_file,
    matches_wildcard,
)

RANGES = iterations_file().ranges


@pytest.mark.parametrize("entry", RANGES, ids=lambda entry: entry.name)
def test_a_range_takes_its_examples_and_no_counter_example(entry: IterationRange) -> None:
    assert entry.examples
    assert entry.counter_examples
    for name in entry.examples:
        assert next(other for other in RANGES if matches_wildcard(name, other.name)) == entry
    for name in entry.counter_examples:
        assert not any(matches_wildcard(name, other.name) for other in RANGES)


@examples(60)
@given(st.text("ab*", max_size=5), st.text("ab", max_size=6))
def test_a_star_stands_for_any_text(name: str, text: str) -> None:
    pattern = ".*".join(re.escape(part) for part in name.split("*"))
    assert matches_wildcard(text, name) == (re.fullmatch(pattern, text) is not None)


def test_many_stars_take_no_long_time() -> None:
    assert not matches_wildcard("a" * 5000, "a*" * 500 + "b")
