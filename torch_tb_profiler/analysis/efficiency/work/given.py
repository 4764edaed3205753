"""What a formula gives its rule to know: places of operands, counts, names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from torch_tb_profiler.knowledge.formulas import Argument

Given: TypeAlias = Mapping[str, Argument]


def whole(given: Given, name: str, absent: int = -1) -> int:
    """A whole number: a place, or how many."""
    found = given.get(name, absent)
    return found if isinstance(found, int) else absent


def number(given: Given, name: str, absent: float) -> float:
    """Any number."""
    found = given.get(name, absent)
    return float(found) if isinstance(found, int | float) else absent


def places(given: Given, name: str) -> tuple[int, ...]:
    """Several places; none where the formula gives none."""
    found = given.get(name, ())
    return found if isinstance(found, tuple) else ()


def text(given: Given, name: str) -> str | None:
    """A word."""
    found = given.get(name)
    return found if isinstance(found, str) else None


def is_set(given: Given, name: str) -> bool:
    """Whether something is so."""
    return given.get(name) is True
