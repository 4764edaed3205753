"""The table of limits in the documentation is that of the code."""

from __future__ import annotations

from tools.limits_table import PAGE, current


def test_the_page_has_the_limits_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert current(text) == text, "run python tools/limits_table.py"
