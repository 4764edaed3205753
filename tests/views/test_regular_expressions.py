"""Regular expressions of filters: what they find, what is refused, and that none can hang."""

from __future__ import annotations

import itertools
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.views.regular_expressions import (
    MAX_CHARACTERS,
    ExpressionError,
    matching,
)

NAMES = pl.Series(["aten::conv2d", "aten::mm", "Conv_fprop", "aten::addmm", "", "größe"])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^aten::(conv|mm)", ["aten::conv2d", "aten::mm"]),
        ("MM$", ["aten::mm", "aten::addmm"]),
        (r"\d", ["aten::conv2d"]),
        ("^$", [""]),
        ("GRÖ", ["größe"]),
        ("", NAMES.to_list()),
    ],
)
def test_what_is_found(pattern: str, expected: list[str]) -> None:
    assert matching(NAMES, pattern).to_list() == expected


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(a", "unclosed group"),
        ("*", "repetition operator missing"),
        ("a(?=b)", "look-around, including look-ahead and look-behind, is not supported"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
        ("(a{1000}){1000}", "too large"),
        ("a" * (MAX_CHARACTERS + 1), f"{MAX_CHARACTERS} are allowed"),
    ],
)
def test_what_is_refused_says_why(pattern: str, words: str) -> None:
    for values in (NAMES, NAMES.clear()):
        with pytest.raises(ExpressionError, match=re.escape(words)):
            matching(values, pattern)


def test_what_other_engines_try_for_ever_is_over_at_once() -> None:
    assert matching(pl.Series(["a" * 100_000]), "^(a|aa)+$|(a+)+b").len() == 1


def test_work_without_end_is_stopped() -> None:
    ticks = itertools.count()
    names = pl.Series([f"{position:0300d}" for position in range(3000)])
    with pytest.raises(ExpressionError, match="takes longer than 2 s"):
        matching(names, "x", clock=lambda: next(ticks))


@given(
    st.lists(st.text("ab.:(", max_size=5), unique=True), st.sampled_from(["a+b", "^[^a]", r"\."])
)
def test_as_python_finds_them(texts: list[str], pattern: str) -> None:
    result = matching(pl.Series(texts, dtype=pl.String), pattern).to_list()
    assert result == [text for text in texts if re.search(pattern, text)]
