"""Figures get into their section of the document, and say whether their goal is reached."""

from __future__ import annotations

import pytest

from bench.figures import Figure, written

TEXT = "before\n<!-- one -->\nold\n<!-- /one -->\nbetween\n<!-- two -->\n<!-- /two -->\nafter\n"


def test_a_section_is_made_anew_and_the_rest_is_kept() -> None:
    figures = [Figure("wall", 1.678, "s", 1.8), Figure("speed", 203.4, "MB/s", 300.0, True)]
    text = written(written(TEXT, "one", "a file", figures), "one", "a file", figures)
    assert "| wall | at most 1.8 s | 1.68 s |\n| speed | at least 300 MB/s | 203 MB/s |\n" in text
    assert text.startswith("before\n<!-- one -->\n")
    assert text.endswith("<!-- /one -->\nbetween\n<!-- two -->\n<!-- /two -->\nafter\n")
    assert "old" not in text
    assert text.count("| wall |") == 1


def test_an_unknown_section_is_refused() -> None:
    with pytest.raises(ValueError, match="three"):
        written(TEXT, "three", "a file", [])


@pytest.mark.parametrize(
    ("figure", "is_met"),
    [
        (Figure("a", 2.0, "s", 2.0), True),
        (Figure("a", 2.1, "s", 2.0), False),
        (Figure("a", 2.0, "x", 2.0, larger_is_better=True), True),
        (Figure("a", 1.9, "x", 2.0, larger_is_better=True), False),
        (Figure("a", 99.0, "s"), True),
    ],
)
def test_goals(figure: Figure, is_met: bool) -> None:
    assert figure.is_met is is_met
    assert ("MISSED" in str(figure)) is not is_met
