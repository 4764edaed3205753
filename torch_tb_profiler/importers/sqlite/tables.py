"""Schema of a database: the columns of its tables, and whether their pages can be decoded here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.sqlite.pages import PageFile, is_table

MAX_COLUMNS = 2000
"""SQLite's default limit."""

ROW_ID = -1
"""The position of a column that is the row's id."""

REAL_WORDS = ("REAL", "FLOA", "DOUB")
OTHER_WORDS = ("INT", "CHAR", "CLOB", "TEXT", "BLOB")
"""Words of declared types (https://www.sqlite.org/datatype3.html#determination_of_column_affinity):
a column with one of the first, and none of the others, holds reals."""


class TableLayout(Struct, frozen=True):
    """The layout of a table.

    Attributes:
        columns: Names of the columns, in order.
        root: Root page of its tree; 0 if only SQLite can read the table: it has no row ids,
            computed columns, or columns that were added with a default value.
        positions: Position of each column in a row, :data:`ROW_ID` for the row's id.
        reals: Columns whose integers are reals.
    """

    columns: tuple[str, ...]
    root: int
    positions: dict[str, int]
    reals: frozenset[str]


class Schema(Mapping[str, tuple[str, ...]]):
    """Table → names of its columns, without views and virtual tables. What a table looks like is
    read when it is asked for: a database may have any number of others.

    Args:
        connection: The database.
        file: Its pages.

    Raises:
        sqlite3.Error: the schema is damaged.
    """

    def __init__(self, connection: sqlite3.Connection, file: PageFile) -> None:
        self._connection = connection
        self._file = file
        rows = connection.execute(
            "SELECT name, rootpage FROM sqlite_master"
            " WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%'"
        )
        self._roots = {
            name: root
            for name, root in rows
            if isinstance(name, str) and "\0" not in name and isinstance(root, int)
        }
        self._layouts: dict[str, TableLayout | None] = {}

    def layout(self, name: str) -> TableLayout | None:
        """The layout of a table; None if there is none of this name, or its schema is damaged.

        Raises:
            OSError: the file cannot be read.
        """
        if name not in self._layouts and name in self._roots:
            try:
                layout = _table(self._connection, self._file, name, self._roots[name])
            except sqlite3.Error:
                layout = None
            self._layouts[name] = layout if layout is not None and layout.columns else None
        return self._layouts.get(name)

    def __getitem__(self, name: str) -> tuple[str, ...]:
        layout = self.layout(name)
        if layout is None:
            raise KeyError(name)
        return layout.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._roots)

    def __len__(self) -> int:
        return len(self._roots)


def quote_identifier(identifier: str) -> str:
    """A name of a table or column, quoted for SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def _table(connection: sqlite3.Connection, file: PageFile, name: str, root: int) -> TableLayout:
    table_info = connection.execute(f"PRAGMA table_xinfo({quote_identifier(name)})").fetchall()
    columns = tuple(column[1] for column in table_info if not column[6])
    if not _is_plain(table_info) or not is_table(file, root):
        return TableLayout(columns, 0, {}, frozenset())
    positions = {column: position for position, column in enumerate(columns)}
    keys = [column for column in table_info if column[5]]
    if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER":
        indices = connection.execute(f"PRAGMA index_list({quote_identifier(name)})").fetchall()
        if not any(index[3] == "pk" for index in indices):
            positions[keys[0][1]] = ROW_ID
    reals = frozenset(column[1] for column in table_info if _is_real(str(column[2]).upper()))
    return TableLayout(columns, root, positions, reals)


def _is_plain(table_info: list[tuple[Any, ...]]) -> bool:
    """Whether rows store all columns: none is computed, hidden, or has a default value that rows
    written before the column was added do not store."""
    return len(table_info) <= MAX_COLUMNS and not any(
        column[6] or str(column[4] or "NULL").upper() != "NULL" for column in table_info
    )


def _is_real(declared: str) -> bool:
    return any(word in declared for word in REAL_WORDS) and not any(
        word in declared for word in OTHER_WORDS
    )
