"""Reads some rows of a table: in this process, in another one, or through SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from torch_tb_profiler.importers.sqlite.cells import convert_floats, convert_ints, encode_texts
from torch_tb_profiler.importers.sqlite.packed import PackedInts, pack
from torch_tb_profiler.importers.sqlite.pages import PageFile
from torch_tb_profiler.importers.sqlite.records import LeafRecords, read_records
from torch_tb_profiler.importers.sqlite.tables import ROW_ID
from torch_tb_profiler.importers.sqlite.values import codes_at, floats_at, ints_at, objects_at
from torch_tb_profiler.trace.columns import ABSENT, Int64

CellType = Literal["ints", "floats", "codes", "objects", "documents"]
"""The type to which the cells of a column are converted; documents are objects of any length."""


class ColumnRequest(NamedTuple):
    """A requested column.

    Attributes:
        name: Name of the column.
        cell_type: The type of its values.
    """

    name: str
    cell_type: CellType


class StoredColumn(NamedTuple):
    """The position of a requested column in the rows of a table.

    Attributes:
        position: Position in the row; ``ROW_ID`` for the row's id.
        cell_type: The type of its values.
        is_real: Whether its integers are reals.
    """

    position: int
    cell_type: CellType
    is_real: bool


class TablePiece(NamedTuple):
    """Pages of a table and the columns to read: everything another process needs.

    Attributes:
        file: The database.
        table: Name of the table.
        pages: Page numbers.
        stored: The requested columns.
        most_bytes: Of longer cells only so many bytes are read.
    """

    file: PageFile
    table: str
    pages: Int64
    stored: tuple[StoredColumn, ...]
    most_bytes: int


class TablePart(NamedTuple):
    """Rows that were read.

    Attributes:
        rows: Number of rows.
        columns: Per requested column its values: packed integers, packed bits of numbers, a list of
            objects, or codes with the text of each code.
        mistyped: Per requested column the number of cells of another type.
        damaged: Number of pages and rows that were left out or miss cells.
    """

    rows: int
    columns: list[Any]
    mistyped: list[int]
    damaged: int


def read_piece(piece: TablePiece) -> TablePart:
    """Read the rows of a piece.

    Raises:
        OSError: the file cannot be read.
    """
    positions = [each.position for each in piece.stored if each.position != ROW_ID]
    records = read_records(piece.file, piece.pages, positions, piece.most_bytes)
    columns: list[Any] = []
    mistyped: list[int] = []
    for position, cell_type, is_real in piece.stored:
        if position == ROW_ID:
            values, count = _convert_cells(records.row_ids.tolist(), cell_type)
        else:
            values, count = _convert_column(records, position, cell_type, is_real)
        columns.append(values)
        mistyped.append(count)
    return TablePart(len(records.row_ids), columns, mistyped, records.damaged)


def part_from_rows(rows: Sequence[tuple[Any, ...]], requests: Sequence[ColumnRequest]) -> TablePart:
    """A part from rows of the requested cells, as read by SQLite."""
    columns = zip(*rows, strict=True) if rows else [()] * len(requests)
    converted = (
        [
            _convert_cells(cells, cell_type)
            for cells, (_, cell_type) in zip(columns, requests, strict=True)
        ]
        if requests
        else []
    )
    return TablePart(len(rows), [each[0] for each in converted], [each[1] for each in converted], 0)


def _convert_cells(cells: Sequence[Any], cell_type: CellType) -> tuple[Any, int]:
    if cell_type == "ints":
        values, mistyped = convert_ints(cells)
        return pack(values), mistyped
    if cell_type == "floats":
        numbers, mistyped = convert_floats(cells)
        return pack(numbers.view(np.int64)), mistyped
    if cell_type == "codes":
        codes, texts, mistyped = encode_texts(cells)
        return (codes, texts), mistyped
    return list(cells), 0


def _convert_column(
    records: LeafRecords, position: int, cell_type: CellType, is_real: bool
) -> tuple[Any, int]:
    cells = records.cells[position]
    if cell_type == "ints":
        values, mistyped = ints_at(records, cells)
        return pack(values), mistyped
    if cell_type == "floats":
        numbers, mistyped = floats_at(records, cells)
        return pack(numbers.view(np.int64)), mistyped
    if cell_type == "codes":
        codes, texts, mistyped = codes_at(records, cells, is_real)
        return (codes, texts), mistyped
    return objects_at(records, cells, is_real), 0


def absent_column(rows: int, cell_type: CellType) -> Any:
    """The values of a column that the table does not have."""
    if cell_type == "ints":
        return PackedInts(rows, int(ABSENT), None, False)
    if cell_type == "floats":
        return pack(np.full(rows, np.nan).view(np.int64))
    return (np.full(rows, -1, np.int32), []) if cell_type == "codes" else [None] * rows
