"""Cells of records as numbers and texts, all rows of a column at once.

They are what :mod:`torch_tb_profiler.importers.sqlite.cells` makes of single cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.sqlite.cells import MISTYPED, as_float, as_int, decoded
from torch_tb_profiler.importers.sqlite.pages import Bytes
from torch_tb_profiler.importers.sqlite.records import (
    BLOB,
    NULL,
    ONE,
    REAL,
    TEXT,
    ZERO,
    Cells,
    Records,
)
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.constants import constant, is_constant

SHIFTS = np.array([0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0, 0, 0], np.int64)
"""By which eight bytes that begin with a cell of a kind become its number."""

FIXED = np.array([ABSENT, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, MISTYPED, 0], np.int64)
IS_FIXED = np.isin(np.arange(len(FIXED)), [NULL, ZERO, ONE, BLOB])
"""Kinds whose number is not in the cell."""

MOST_DIGITS = 19


def ints_at(records: Records, cells: Cells) -> tuple[Int64, int]:
    """Cells as integers, :data:`ABSENT` where there is none, and how many are of another type."""
    kinds = cells.kinds
    if is_constant(kinds) and kinds[0] not in (REAL, BLOB, TEXT):
        return _integers(records.data, cells), 0
    values = _integers(records.data, cells)
    is_other = (kinds == REAL) | (kinds == TEXT)
    if is_other.any():
        _put_reals(values, np.flatnonzero(kinds == REAL))
        _put_digits(values, records.data, cells, np.flatnonzero(kinds == TEXT))
    is_wrong = values == MISTYPED
    wrong = int(is_wrong.sum())
    return np.where(is_wrong, ABSENT, values) if wrong else values, wrong


def floats_at(records: Records, cells: Cells) -> tuple[Float64, int]:
    """Cells as numbers, NaN where there is none, and how many are of another type."""
    whole = _integers(records.data, cells)
    kinds = cells.kinds
    values = np.where(kinds == REAL, whole.view(np.float64), whole.astype(np.float64))
    values[(kinds == NULL) | (kinds == BLOB)] = np.nan
    wrong = int((kinds == BLOB).sum())
    for row in np.flatnonzero(kinds == TEXT):
        number = as_float(decoded(bytes_of(records.data, cells, row)))
        wrong += number is None
        values[row] = np.nan if number is None else number
    return values, wrong


def codes_at(records: Records, cells: Cells, is_real: bool) -> tuple[Int32, list[str], int]:
    """Cells as texts: a code of each, -1 where there is none, the distinct texts behind the codes,
    and how many cells are bytes.

    Args:
        records: The rows.
        cells: Of one column.
        is_real: Whether integers of the column are shown as reals.
    """
    kinds = cells.kinds
    codes = np.full(len(kinds), -1, np.int32)
    texts: list[str] = []
    for rows, names in _texts_by_size(records.data, cells):
        matrix = names.reshape(len(rows), -1)
        firsts, places = distinct(matrix)
        codes[rows] = places + len(texts)
        texts += [decoded(matrix[first].tobytes()) for first in firsts]
    numbers = np.flatnonzero((kinds != NULL) & (kinds < BLOB))
    if len(numbers):
        shown = _shown(records, cells, numbers, is_real)
        codes[numbers] = np.arange(len(texts), len(texts) + len(numbers))
        texts += [text or "" for text in shown]
        codes[numbers[[text is None for text in shown]]] = -1
    return codes, texts, int((kinds == BLOB).sum())


def objects_at(records: Records, cells: Cells, is_real: bool) -> list[Any]:
    """Cells as they are: int, float, str, bytes or None; for small tables."""
    values = _integers(records.data, cells)
    reals = values.view(np.float64)
    objects: list[Any] = [None] * len(values)
    for row, kind in enumerate(cells.kinds.tolist()):
        if kind in (BLOB, TEXT):
            data = bytes_of(records.data, cells, row)
            objects[row] = data if kind == BLOB else decoded(data)
        elif kind == REAL:
            objects[row] = None if np.isnan(reals[row]) else float(reals[row])
        elif kind != NULL:
            objects[row] = float(values[row]) if is_real else int(values[row])
    return objects


def bytes_of(data: Bytes, cells: Cells, row: int | np.integer[Any]) -> bytes:
    """The bytes of one cell."""
    start = int(cells.starts[row])
    return data[start : start + int(cells.sizes[row])].tobytes()


def distinct(matrix: Bytes) -> tuple[Int64, Int64]:
    """Which rows of a matrix are the first of their kind, and of each row, the number of its
    kind."""
    if matrix.shape[1] == 0:
        return np.zeros(1, np.int64), np.zeros(len(matrix), np.int64)
    rows = np.ascontiguousarray(matrix).view(f"S{matrix.shape[1]}")[:, 0]
    _, firsts, places = np.unique(rows, return_index=True, return_inverse=True)
    return firsts, places


def _integers(data: Bytes, cells: Cells) -> Int64:
    """The eight bytes that begin with each cell as its number, or as the bits of its real; a
    constant column where all are alike."""
    words: npt.NDArray[Any] = np.ndarray((len(data) - 7,), ">i8", data, strides=(1,))
    is_alike = is_constant(cells.kinds)
    if is_alike and IS_FIXED[cells.kinds[0]]:
        return constant(FIXED[cells.kinds[0]], len(cells.kinds), np.int64)
    values: Int64 = words[cells.starts].astype(np.int64)
    values >>= SHIFTS[cells.kinds[0] if is_alike else cells.kinds]
    if is_alike:
        return values
    is_fixed = IS_FIXED[cells.kinds]
    if is_fixed.any():
        values[is_fixed] = FIXED[cells.kinds[is_fixed]]
    return values


def _put_reals(values: Int64, rows: Int64) -> None:
    """Make integers of the reals of these rows, whose bits are in ``values``."""
    reals = values[rows].view(np.float64)
    is_whole = (np.abs(reals) < 2.0**63) & (np.trunc(reals) == reals)
    whole = np.where(is_whole, reals, 0).astype(np.int64)
    values[rows] = np.where(is_whole, whole, np.where(np.isnan(reals), ABSENT, MISTYPED))


def _put_digits(values: Int64, data: Bytes, cells: Cells, rows: Int64) -> None:
    """Make integers of the texts of these rows."""
    sizes = cells.sizes[rows]
    for size in np.unique(sizes):
        alike = rows[sizes == size]
        if 0 < size <= MOST_DIGITS:
            places = cells.starts[alike][:, None] + np.arange(size)
            digits = data[places] - np.uint8(ord("0"))
            powers = np.uint64(10) ** np.arange(int(size) - 1, -1, -1).astype(np.uint64)
            numbers = digits.astype(np.uint64) @ powers
            is_number = (digits < 10).all(axis=1) & (numbers < np.uint64(2**63))
            values[alike] = np.where(is_number, numbers, 0).astype(np.int64)
            alike = alike[~is_number]
        for row in alike:
            values[row] = as_int(decoded(bytes_of(data, cells, row)))


def _texts_by_size(data: Bytes, cells: Cells) -> list[tuple[Int64, Bytes]]:
    """The rows that hold a text, those of one length together, and the bytes of these."""
    rows = np.flatnonzero(cells.kinds == TEXT)
    sizes = cells.sizes[rows]
    order = np.argsort(sizes, kind="stable")
    rows, sizes = rows[order], sizes[order]
    edges = np.flatnonzero(np.diff(sizes)) + 1
    groups = np.split(rows, edges) if len(rows) else []
    return [
        (alike, data[cells.starts[alike][:, None] + np.arange(size)])
        for alike in groups
        for size in (int(cells.sizes[alike[0]]),)
    ]


def _shown(records: Records, cells: Cells, rows: Int64, is_real: bool) -> list[str | None]:
    """Numbers as texts; None for one that is no number."""
    part = Cells(cells.kinds[rows], cells.starts[rows], cells.sizes[rows])
    return [None if each is None else str(each) for each in objects_at(records, part, is_real)]
