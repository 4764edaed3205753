"""The table of docs/flops.md is the one of formulas.toml."""

from __future__ import annotations

from tools.formulas_table import PAGE, current, table
from torch_tb_profiler.knowledge.formulas import formulas


def test_the_page_has_the_formulas_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert current(text) == text, "run python tools/formulas_table.py"


def test_every_operator_and_pattern_stands_in_the_table() -> None:
    written = table()
    assert all(f"`{name}`" in written for formula in formulas() for name in formula.operators)
    assert written.count("\n| ") == len(formulas()) + written.count("| operators |")
