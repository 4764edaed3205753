"""Columns with one value in all rows: they take no memory, and are handled as a whole.

A column that a format never fills is as long as the others, and many are never filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

Column = npt.NDArray[Any]


def constant(value: Any, size: int, dtype: type[np.generic]) -> Column:
    """A read-only column that repeats one value ``size`` times."""
    return np.broadcast_to(np.array(value, dtype), (size,))


def is_constant(column: Column) -> bool:
    """Whether a column was created by :func:`constant` and has rows."""
    return column.strides == (0,) and len(column) > 0


def rows_at(column: Column, rows: Int64 | slice) -> Column:
    """The given rows of a column; of a constant column again a constant. With a slice from
    :func:`neighbours` the rows share the memory of the column."""
    if is_constant(column):
        size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        return constant(column[0], size, column.dtype.type)
    return column[rows]


def neighbours(rows: Int64) -> Int64 | slice:
    """The rows as a slice if they count up by one, else the rows themselves."""
    if not len(rows) or rows[0] < 0 or rows[-1] - rows[0] != len(rows) - 1:
        return rows
    counts_up = bool((rows[1:] > rows[:-1]).all())
    return slice(int(rows[0]), int(rows[-1]) + 1) if counts_up else rows


def concatenate(parts: Sequence[Column], dtype: type[np.generic]) -> Column:
    """Concatenated columns; a constant if all of them repeat the same value."""
    filled = [part for part in parts if len(part)]
    if filled and all(is_constant(part) and _is_same(part[0], filled[0][0]) for part in filled):
        return constant(filled[0][0], sum(map(len, filled)), dtype)
    if len(filled) == 1:
        return np.ascontiguousarray(filled[0], dtype)
    return np.concatenate([np.empty(0, dtype), *filled])


def _is_same(left: Any, right: Any) -> bool:
    return np.array_equal([left], [right], equal_nan=True)
