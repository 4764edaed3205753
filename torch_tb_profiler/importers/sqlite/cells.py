"""Single cells as numbers and texts: in SQLite any cell of a column can have any type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64

INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*", re.ASCII)
DECIMAL = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
INTEGER_LIMIT = 2**63
MAX_NUMBER_CHARS = 64
"""Longest text that is parsed as a number."""

MISTYPED = int(ABSENT) + 1
"""Marks a cell that is not a number, until these cells are counted."""


def decode_text(data: bytes) -> str:
    """A text of the file; bytes that are not UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")


def as_int(cell: Any) -> int:
    """A cell as integer: :data:`ABSENT` for null, :data:`MISTYPED` if it is not an integer. Texts
    of digits and whole reals count as integers."""
    if cell is None:
        return int(ABSENT)
    value: int | None = None
    if isinstance(cell, int):
        value = cell
    elif isinstance(cell, float):
        value = int(cell) if cell.is_integer() else None
    elif isinstance(cell, str) and len(cell) <= MAX_NUMBER_CHARS and INTEGER.fullmatch(cell):
        value = int(cell)
    return value if value is not None and -INTEGER_LIMIT < value < INTEGER_LIMIT else MISTYPED


def as_float(cell: Any) -> float | None:
    """A cell as number: NaN for null, None if it is not a number. Texts of decimals count as
    numbers."""
    if cell is None:
        return float("nan")
    if isinstance(cell, (int, float)):
        return float(cell)
    if isinstance(cell, str) and len(cell) <= MAX_NUMBER_CHARS and DECIMAL.fullmatch(cell):
        return float(cell)
    return None


def convert_ints(cells: Sequence[Any]) -> tuple[Int64, int]:
    """Cells as integers (:data:`ABSENT` where there is none), and the number of cells of another
    type."""
    types = set(map(type, cells))
    if types <= {int}:
        return np.fromiter(cells, np.int64, len(cells)), 0
    values = np.fromiter(map(as_int, cells), np.int64, len(cells))
    is_wrong = values == MISTYPED
    values[is_wrong] = ABSENT
    return values, int(is_wrong.sum())


def convert_floats(cells: Sequence[Any]) -> tuple[Float64, int]:
    """Cells as numbers (NaN where there is none), and the number of cells of another type."""
    if set(map(type, cells)) <= {int, float}:
        return np.fromiter(cells, np.float64, len(cells)), 0
    values = [as_float(cell) for cell in cells]
    wrong = sum(value is None for value in values)
    return np.array(values, np.float64), wrong


def encode_texts(cells: Sequence[Any]) -> tuple[Int32, list[str], int]:
    """Cells as texts: the code of each (-1 for null and for bytes), the text of each code, and the
    number of cells that are bytes. Numbers are converted to texts."""
    code_by_text: dict[str, int] = {}
    codes = np.full(len(cells), -1, np.int32)
    for row, cell in enumerate(cells):
        if cell is not None and not isinstance(cell, bytes):
            codes[row] = code_by_text.setdefault(str(cell), len(code_by_text))
    return codes, list(code_by_text), sum(isinstance(cell, bytes) for cell in cells)
