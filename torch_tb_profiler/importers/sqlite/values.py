"""Converts the cells of a column to numbers and texts, all rows at once.

The results equal those of :mod:`torch_tb_profiler.importers.sqlite.cells` for single cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.sqlite.cells import MISTYPED, as_float, as_int, decode_text
from torch_tb_profiler.importers.sqlite.pages import Bytes
from torch_tb_profiler.importers.sqlite.records import (
    BLOB,
    NULL,
    ONE,
    REAL,
    TEXT,
    ZERO,
    ColumnCells,
    LeafRecords,
)
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant

SHIFTS = np.array([0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0, 0, 0], np.int64)
"""Right shift per kind that turns the eight bytes from a cell's start into its number."""

FIXED = np.array([ABSENT, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, MISTYPED, 0], np.int64)
IS_FIXED = np.isin(np.arange(len(FIXED)), [NULL, ZERO, ONE, BLOB])
"""Kinds whose value is not stored in the cell, and these values."""

MAX_DIGITS = 19


def ints_at(records: LeafRecords, cells: ColumnCells) -> tuple[Int64, int]:
    """Cells as integers (:data:`ABSENT` where there is none), and the number of cells of another
    type."""
    kinds = cells.kinds
    if is_constant(kinds) and kinds[0] not in (REAL, BLOB, TEXT):
        return _integers(records.data, cells), 0
    values = _integers(records.data, cells)
    is_other = (kinds == REAL) | (kinds == TEXT)
    if is_other.any():
        _convert_reals(values, np.flatnonzero(kinds == REAL))
        _convert_digits(values, records.data, cells, np.flatnonzero(kinds == TEXT))
    is_wrong = values == MISTYPED
    wrong = int(is_wrong.sum())
    return np.where(is_wrong, ABSENT, values) if wrong else values, wrong


def floats_at(records: LeafRecords, cells: ColumnCells) -> tuple[Float64, int]:
    """Cells as numbers (NaN where there is none), and the number of cells of another type."""
    whole = _integers(records.data, cells)
    kinds = cells.kinds
    values = np.where(kinds == REAL, whole.view(np.float64), whole.astype(np.float64))
    values[(kinds == NULL) | (kinds == BLOB)] = np.nan
    wrong = int((kinds == BLOB).sum())
    for row in np.flatnonzero(kinds == TEXT):
        number = as_float(decode_text(bytes_of(records.data, cells, row)))
        wrong += number is None
        values[row] = np.nan if number is None else number
    return values, wrong


def codes_at(
    records: LeafRecords, cells: ColumnCells, is_real: bool
) -> tuple[Int32, list[str], int]:
    """Cells as texts: the code of each (-1 where there is none), the text of each code, and the
    number of cells that are bytes.

    Args:
        records: The rows.
        cells: The cells of one column.
        is_real: Whether integers of the column are written as reals.
    """
    kinds = cells.kinds
    codes = np.full(len(kinds), -1, np.int32)
    texts: list[str] = []
    for rows, names in _texts_by_size(records.data, cells):
        matrix = names.reshape(len(rows), -1)
        firsts, inverse = distinct_rows(matrix)
        codes[rows] = inverse + len(texts)
        texts += [decode_text(matrix[first].tobytes()) for first in firsts]
    numbers = np.flatnonzero((kinds != NULL) & (kinds < BLOB))
    if len(numbers):
        number_texts = _number_texts(records, cells, numbers, is_real)
        codes[numbers] = np.arange(len(texts), len(texts) + len(numbers))
        texts += [text or "" for text in number_texts]
        codes[numbers[[text is None for text in number_texts]]] = -1
    return codes, texts, int((kinds == BLOB).sum())


def objects_at(records: LeafRecords, cells: ColumnCells, is_real: bool) -> list[Any]:
    """Cells as Python objects: int, float, str, bytes or None; for small tables."""
    values = _integers(records.data, cells)
    reals = values.view(np.float64)
    objects: list[Any] = [None] * len(values)
    for row, kind in enumerate(cells.kinds.tolist()):
        if kind in (BLOB, TEXT):
            data = bytes_of(records.data, cells, row)
            objects[row] = data if kind == BLOB else decode_text(data)
        elif kind == REAL:
            objects[row] = None if np.isnan(reals[row]) else float(reals[row])
        elif kind != NULL:
            objects[row] = float(values[row]) if is_real else int(values[row])
    return objects


def bytes_of(data: Bytes, cells: ColumnCells, row: int | np.integer[Any]) -> bytes:
    """The bytes of one cell."""
    start = int(cells.starts[row])
    return data[start : start + int(cells.sizes[row])].tobytes()


def distinct_rows(matrix: Bytes) -> tuple[Int64, Int64]:
    """The distinct rows of a matrix: the first row of each, and per row the number of its value."""
    if matrix.shape[1] == 0:
        return np.zeros(1, np.int64), np.zeros(len(matrix), np.int64)
    rows = np.ascontiguousarray(matrix).view(f"S{matrix.shape[1]}")[:, 0]
    _, firsts, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return firsts, inverse


def _integers(data: Bytes, cells: ColumnCells) -> Int64:
    """Each cell as integer, or as the bits of its real; a constant array if all cells have the same
    kind without a stored value."""
    words: npt.NDArray[Any] = np.ndarray((len(data) - 7,), ">i8", data, strides=(1,))
    is_uniform = is_constant(cells.kinds)
    if is_uniform and IS_FIXED[cells.kinds[0]]:
        return constant(FIXED[cells.kinds[0]], len(cells.kinds), np.int64)
    values: Int64 = words[cells.starts].astype(np.int64)
    values >>= SHIFTS[cells.kinds[0] if is_uniform else cells.kinds]
    if is_uniform:
        return values
    is_fixed = IS_FIXED[cells.kinds]
    if is_fixed.any():
        values[is_fixed] = FIXED[cells.kinds[is_fixed]]
    return values


def _convert_reals(values: Int64, rows: Int64) -> None:
    """Replace the reals of these rows, whose bits are in ``values``, by integers."""
    reals = values[rows].view(np.float64)
    is_whole = (np.abs(reals) < 2.0**63) & (np.trunc(reals) == reals)
    whole = np.where(is_whole, reals, 0).astype(np.int64)
    values[rows] = np.where(is_whole, whole, np.where(np.isnan(reals), ABSENT, MISTYPED))


def _convert_digits(values: Int64, data: Bytes, cells: ColumnCells, rows: Int64) -> None:
    """Replace the texts of these rows by integers."""
    sizes = cells.sizes[rows]
    for size in np.unique(sizes):
        same_size = rows[sizes == size]
        if 0 < size <= MAX_DIGITS:
            offsets = cells.starts[same_size][:, None] + np.arange(size)
            digits = data[offsets] - np.uint8(ord("0"))
            powers = np.uint64(10) ** np.arange(int(size) - 1, -1, -1).astype(np.uint64)
            numbers = digits.astype(np.uint64) @ powers
            is_number = (digits < 10).all(axis=1) & (numbers < np.uint64(2**63))
            values[same_size] = np.where(is_number, numbers, 0).astype(np.int64)
            same_size = same_size[~is_number]
        for row in same_size:
            values[row] = as_int(decode_text(bytes_of(data, cells, row)))


def _texts_by_size(data: Bytes, cells: ColumnCells) -> list[tuple[Int64, Bytes]]:
    """The rows that hold a text, grouped by length, and the bytes of each group."""
    rows = np.flatnonzero(cells.kinds == TEXT)
    sizes = cells.sizes[rows]
    order = np.argsort(sizes, kind="stable")
    rows, sizes = rows[order], sizes[order]
    edges = np.flatnonzero(np.diff(sizes)) + 1
    groups = np.split(rows, edges) if len(rows) else []
    return [
        (same_size, _rows_of_bytes(data, cells.starts[same_size], int(cells.sizes[same_size[0]])))
        for same_size in groups
    ]


def _rows_of_bytes(data: Bytes, starts: Int64, size: int) -> Bytes:
    """The ``size`` bytes from each start on. Indices of single bytes would take eight times the
    memory."""
    if not size:
        return np.empty((len(starts), 0), np.uint8)
    ranges = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    rows: Bytes = ranges[starts].view(np.uint8).reshape(len(starts), size)
    return rows


def _number_texts(
    records: LeafRecords, cells: ColumnCells, rows: Int64, is_real: bool
) -> list[str | None]:
    """Numbers as texts; None for NaN."""
    part = ColumnCells(cells.kinds[rows], cells.starts[rows], cells.sizes[rows])
    return [None if each is None else str(each) for each in objects_at(records, part, is_real)]
