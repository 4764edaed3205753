"""Cells of a database as numbers and texts: SQLite lets any cell of a column have any type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64

INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
DECIMAL = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
BEYOND = 2**63
LONGEST_NUMBER = 64
"""Characters of a text that may be a number."""

MISTYPED = int(ABSENT) + 1
"""Stands for a cell that holds something else than a number, until these are counted."""


def decoded(data: bytes) -> str:
    """A text of the file; bytes that are none become U+FFFD."""
    return data.decode("utf-8", "replace")


def as_int(cell: Any) -> int:
    """An integer; :data:`ABSENT` for null, :data:`MISTYPED` for what is none. Texts of digits and
    whole reals are integers."""
    if cell is None:
        return int(ABSENT)
    value: int | None = None
    if isinstance(cell, int):
        value = cell
    elif isinstance(cell, float):
        value = int(cell) if cell.is_integer() else None
    elif isinstance(cell, str) and len(cell) <= LONGEST_NUMBER and INTEGER.fullmatch(cell):
        value = int(cell)
    return value if value is not None and -BEYOND < value < BEYOND else MISTYPED


def as_float(cell: Any) -> float | None:
    """A number; NaN for null, None for what is none. Texts of decimals are numbers."""
    if cell is None:
        return float("nan")
    if isinstance(cell, (int, float)):
        return float(cell)
    if isinstance(cell, str) and len(cell) <= LONGEST_NUMBER and DECIMAL.fullmatch(cell):
        return float(cell)
    return None


def ints_of(cells: Sequence[Any]) -> tuple[Int64, int]:
    """Cells as integers, :data:`ABSENT` where there is none, and how many are of another type."""
    types = set(map(type, cells))
    if types <= {int}:
        return np.fromiter(cells, np.int64, len(cells)), 0
    values = np.fromiter(map(as_int, cells), np.int64, len(cells))
    is_wrong = values == MISTYPED
    values[is_wrong] = ABSENT
    return values, int(is_wrong.sum())


def floats_of(cells: Sequence[Any]) -> tuple[Float64, int]:
    """Cells as numbers, NaN where there is none, and how many are of another type."""
    if set(map(type, cells)) <= {int, float}:
        return np.fromiter(cells, np.float64, len(cells)), 0
    values = [as_float(cell) for cell in cells]
    wrong = sum(value is None for value in values)
    return np.array(values, np.float64), wrong


def codes_of(cells: Sequence[Any]) -> tuple[Int32, list[str], int]:
    """Cells as texts: a code of each, -1 for null and for bytes, the distinct texts behind the
    codes, and how many cells are bytes. Numbers are texts."""
    known: dict[str, int] = {}
    codes = np.full(len(cells), -1, np.int32)
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, bytes):
            codes[row] = known.setdefault(str(cell), len(known))
    return codes, list(known), sum(isinstance(cell, bytes) for cell in cells)
