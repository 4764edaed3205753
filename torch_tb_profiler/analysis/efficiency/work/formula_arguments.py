"""Arguments that a formula passes to its rule: positions of operands, counts, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from torch_tb_profiler.knowledge.formulas import Argument

FormulaArguments: TypeAlias = Mapping[str, Argument]


def whole(formula: FormulaArguments, name: str, absent: int = -1) -> int:
    """A whole number: a position, or how many."""
    value = formula.get(name, absent)
    return value if isinstance(value, int) else absent


def number(formula: FormulaArguments, name: str, absent: float) -> float:
    """Any number."""
    value = formula.get(name, absent)
    return float(value) if isinstance(value, int | float) else absent


def positions(formula: FormulaArguments, name: str) -> tuple[int, ...]:
    """Several positions; none where the formula gives none."""
    value = formula.get(name, ())
    return value if isinstance(value, tuple) else ()


def text(formula: FormulaArguments, name: str) -> str | None:
    """A word."""
    value = formula.get(name)
    return value if isinstance(value, str) else None


def is_set(formula: FormulaArguments, name: str) -> bool:
    """Whether something is so."""
    return formula.get(name) is True
