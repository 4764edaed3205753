"""Rows that SQLite itself reads: of the tables whose pages are not decoded here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from torch_tb_profiler.importers.sqlite.parts import Part, Wanted, part_of
from torch_tb_profiler.importers.sqlite.tables import quoted

ROWS_AT_ONCE = 1 << 15


def queried_parts(
    connection: sqlite3.Connection,
    table: str,
    wanted: Sequence[Wanted],
    *,
    most: int,
    exactly: bool,
) -> Iterator[Part]:
    """The rows of a table, some at once, up to the first page that is damaged.

    Args:
        connection: The database.
        table: Its table.
        wanted: Columns of it.
        most: So many rows are read at most.
        exactly: Whether it has so many: those that cannot be read are null then.
    """
    columns = ", ".join(quoted(name) for name, _ in wanted) or "NULL"
    left = most
    rows: list[tuple[Any, ...]] = []
    try:
        cursor = connection.execute(f"SELECT {columns} FROM {quoted(table)}")
        while left > 0:
            rows.extend(islice(cursor, min(ROWS_AT_ONCE, left)))
            if not rows:
                break
            left -= len(rows)
            yield part_of(rows, wanted)
            rows = []
    except sqlite3.Error:
        left -= len(rows)
        yield part_of(rows, wanted)._replace(damaged=1)
    if exactly and left:
        yield part_of([(None,) * len(wanted)] * left, wanted)
