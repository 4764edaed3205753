"""Some rows of a table, wherever they are read: here, in another process, or by SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from torch_tb_profiler.importers.sqlite.cells import codes_of, floats_of, ints_of
from torch_tb_profiler.importers.sqlite.packed import Packed, packed
from torch_tb_profiler.importers.sqlite.pages import PageFile
from torch_tb_profiler.importers.sqlite.records import Records, records_of
from torch_tb_profiler.importers.sqlite.tables import ROW_ID
from torch_tb_profiler.importers.sqlite.values import codes_at, floats_at, ints_at, objects_at
from torch_tb_profiler.trace.columns import ABSENT, Int64

How = Literal["ints", "floats", "codes", "objects"]
"""What the cells of a column become."""


class Wanted(NamedTuple):
    """A column that is wanted.

    Attributes:
        name: Of the column.
        how: What its cells become.
    """

    name: str
    how: How


class Stored(NamedTuple):
    """Where a wanted column is in the rows.

    Attributes:
        place: Its place, or that of the row's id.
        how: What its cells become.
        is_real: Whether its integers are reals.
    """

    place: int
    how: How
    is_real: bool


class Piece(NamedTuple):
    """Pages of a table, and what is wanted of them: all that another process needs.

    Attributes:
        file: The database.
        table: Its name.
        pages: Their numbers.
        stored: The wanted columns.
    """

    file: PageFile
    table: str
    pages: Int64
    stored: tuple[Stored, ...]


class Part(NamedTuple):
    """What was read.

    Attributes:
        rows: How many rows there are.
        columns: Of each wanted column its values: packed integers, packed bits of numbers, a
            list of objects, or codes with the texts behind them.
        wrong: Of each wanted column, how many cells are of another type.
        damaged: Pages and rows that were left out, or lack cells.
    """

    rows: int
    columns: list[Any]
    wrong: list[int]
    damaged: int


def read_piece(piece: Piece) -> Part:
    """The rows of a piece.

    Raises:
        OSError: the file cannot be read.
    """
    places = [each.place for each in piece.stored if each.place != ROW_ID]
    records = records_of(piece.file, piece.pages, places)
    columns: list[Any] = []
    wrong: list[int] = []
    for place, how, is_real in piece.stored:
        if place == ROW_ID:
            values, count = _converted(records.row_ids.tolist(), how)
        else:
            values, count = _at(records, place, how, is_real)
        columns.append(values)
        wrong.append(count)
    return Part(len(records.row_ids), columns, wrong, records.damaged)


def part_of(rows: Sequence[tuple[Any, ...]], wanted: Sequence[Wanted]) -> Part:
    """Rows of the wanted cells that SQLite read."""
    columns = zip(*rows, strict=True) if rows else [()] * len(wanted)
    converted = (
        [_converted(cells, how) for cells, (_, how) in zip(columns, wanted, strict=True)]
        if wanted
        else []
    )
    return Part(len(rows), [each[0] for each in converted], [each[1] for each in converted], 0)


def _converted(cells: Sequence[Any], how: How) -> tuple[Any, int]:
    if how == "ints":
        values, wrong = ints_of(cells)
        return packed(values), wrong
    if how == "floats":
        numbers, wrong = floats_of(cells)
        return packed(numbers.view(np.int64)), wrong
    if how == "codes":
        codes, texts, wrong = codes_of(cells)
        return (codes, texts), wrong
    return list(cells), 0


def _at(records: Records, place: int, how: How, is_real: bool) -> tuple[Any, int]:
    cells = records.cells[place]
    if how == "ints":
        values, wrong = ints_at(records, cells)
        return packed(values), wrong
    if how == "floats":
        numbers, wrong = floats_at(records, cells)
        return packed(numbers.view(np.int64)), wrong
    if how == "codes":
        codes, texts, wrong = codes_at(records, cells, is_real)
        return (codes, texts), wrong
    return objects_at(records, cells, is_real), 0


def absent_column(rows: int, how: How) -> Any:
    """A column that a table lacks."""
    if how == "ints":
        return Packed(rows, int(ABSENT), None, False)
    if how == "floats":
        return packed(np.full(rows, np.nan).view(np.int64))
    return [None] * rows if how == "objects" else (np.full(rows, -1, np.int32), [])
