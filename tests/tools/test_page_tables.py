"""The generated tables of the documentation are those of code and data."""

from __future__ import annotations

import pytest

from tools.page_tables import TABLES, PageTable, formula_lines
from torch_tb_profiler.knowledge.formulas import formulas


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_page_has_the_table_of_today(table: PageTable) -> None:
    text = table.page.read_text(encoding="utf-8")
    assert table.current(text) == text, "run python tools/page_tables.py"


def test_every_operator_and_pattern_stands_in_the_table() -> None:
    written = "\n".join(formula_lines())
    assert all(f"`{name}`" in written for formula in formulas() for name in formula.operators)
    assert written.count("\n| ") == len(formulas()) + written.count("| operators |")
