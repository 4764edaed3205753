"""Rows of the table ``arguments``: values of single slices that no other column models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from torch_tb_profiler.trace.columns import (
    ARGUMENT_COLUMNS,
    ColumnArrays,
    EventColumns,
    Float64,
    Int32,
    Int64,
)
from torch_tb_profiler.trace.constant_columns import concatenate

MAX_EXACT_INTEGER = 1 << 53
"""Larger integers become text: a float64 does not hold all of them."""


def one_argument(
    slices: Int64, key_code: int, *, values: Float64 | None = None, text_codes: Int32 | None = None
) -> ColumnArrays:
    """One argument of many slices.

    Args:
        slices: Rows of the slices, each at most once.
        key_code: Code of the argument's name.
        values: Per slice its number; NaN where it is text. None: all are text.
        text_codes: Per slice the code of its text; -1 where it is a number. None: all are numbers.
    """
    size = len(slices)
    return {
        "slice": slices.astype(np.int64, copy=False),
        "key_code": np.full(size, key_code, np.int32),
        "value": np.full(size, np.nan) if values is None else values.astype(np.float64),
        "text_code": np.full(size, -1, np.int32) if text_codes is None else text_codes,
    }


def add_arguments(columns: EventColumns, parts: Iterable[ColumnArrays]) -> None:
    """Append rows to the table ``arguments`` of ``columns``, in place."""
    tables = [columns.tables["arguments"], *parts]
    columns.tables["arguments"] = {
        name: concatenate([table[name] for table in tables], dtype)
        for name, dtype in ARGUMENT_COLUMNS.items()
    }


def drop_repeated_arguments(columns: EventColumns) -> None:
    """Keep the first row of each slice and key, in place: a requested argument may be one that the
    format reads anyway."""
    table = columns.tables["arguments"]
    width = len(columns.strings) + 1
    pairs = table["slice"] * width + table["key_code"]
    _, first = np.unique(pairs, return_index=True)
    if len(first) < len(pairs):
        first.sort()
        columns.tables["arguments"] = {name: values[first] for name, values in table.items()}


class ArgumentRows:
    """Collects arguments value by value, for readers that see them one after the other."""

    def __init__(self, code: Callable[[str], int]) -> None:
        """Start without rows.

        Args:
            code: The code of a text among the strings of the trace.
        """
        self._code = code
        self._rows: list[tuple[int, int, float, int]] = []

    def add(self, row: int, key: str, value: Any) -> None:
        """Add one argument of the slice in ``row``: a number, truth value (1 or 0) or text; None
        and NaN are no values.

        Raises:
            TypeError: the value is something else.
        """
        if value is None:
            return
        if isinstance(value, int) and abs(value) > MAX_EXACT_INTEGER:
            value = str(value)
        if isinstance(value, str):
            self._rows.append((row, self._code(key), math.nan, self._code(value)))
        elif not isinstance(value, int | float):
            raise TypeError(f"{type(value).__name__} is no value of an argument")
        elif not math.isnan(value):
            self._rows.append((row, self._code(key), float(value), -1))

    def table(self) -> ColumnArrays:
        """The rows as columns of the table ``arguments``."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(ARGUMENT_COLUMNS)
        return {
            name: np.array(values, dtype)
            for (name, dtype), values in zip(ARGUMENT_COLUMNS.items(), columns, strict=True)
        }
