"""Reads tables through SQLite itself: those whose pages are not decoded here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from torch_tb_profiler.importers.sqlite.cells import decode_text
from torch_tb_profiler.importers.sqlite.pieces import ColumnRequest, TablePart, part_from_rows
from torch_tb_profiler.importers.sqlite.tables import quote_identifier

ROWS_PER_PART = 1 << 15


def query_parts(
    connection: sqlite3.Connection,
    table: str,
    requests: Sequence[ColumnRequest],
    *,
    max_rows: int,
    pad: bool,
    most_bytes: int,
) -> Iterator[TablePart]:
    """The rows of a table, in parts, up to the first damaged page.

    Args:
        connection: The database.
        table: Name of the table.
        requests: Columns of the table.
        max_rows: Highest number of rows to read.
        most_bytes: Of longer cells only so many bytes are read.
        pad: Whether to add rows of nulls up to ``max_rows`` for rows that cannot be read.
    """
    columns = ", ".join(_cell(name, most_bytes) for name, _ in requests) or "NULL"
    left = max_rows
    rows: list[tuple[Any, ...]] = []
    connection.text_factory = lambda data: decode_text(data[:most_bytes])
    try:
        cursor = connection.execute(f"SELECT {columns} FROM {quote_identifier(table)}")
        while left > 0:
            rows.extend(islice(cursor, min(ROWS_PER_PART, left)))
            if not rows:
                break
            left -= len(rows)
            yield part_from_rows(rows, requests)
            rows = []
    except sqlite3.Error:
        left -= len(rows)
        yield part_from_rows(rows, requests)._replace(damaged=1)
    if pad and left:
        yield part_from_rows([(None,) * len(requests)] * left, requests)


def _cell(name: str, most_bytes: int) -> str:
    column = quote_identifier(name)
    part = f"substr({column}, 1, {most_bytes})"
    return f"CASE typeof({column}) WHEN 'blob' THEN {part} ELSE {column} END"
