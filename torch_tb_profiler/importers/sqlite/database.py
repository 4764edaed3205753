"""A database as columns of numbers and texts: only those that are asked for are read.

Importers name the tables and columns they know; nothing else of the file reaches them. Views,
triggers and virtual tables of a file are never used.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any

import numpy as np

from torch_tb_profiler.importers.sqlite.cells import floats_of, ints_of, texts_of
from torch_tb_profiler.importers.sqlite.opening import Layout, connect, damaged_database, layout_of
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

ROWS_AT_ONCE = 1 << 15
SMALLEST_ROW_BYTES = 4
"""A row is a place of two bytes, a length and an id at least: no file has more rows."""

Row = tuple[Any, ...]


class Database:
    """A database that is open for reading.

    Attributes:
        tables: Its tables, each with the names of its columns.
        quality: What is damaged, or of another type than was asked for, in what was read so far.
    """

    def __init__(self, connection: sqlite3.Connection, layout: Layout, name: str) -> None:
        self._connection = connection
        self._layout = layout
        self._name = name
        self.quality = QualityReport()
        self.tables: Mapping[str, tuple[str, ...]] = self._read_tables()
        missing = layout.pages - layout.pages_present
        self.quality.add("database_truncated", missing)

    @classmethod
    def open(cls, path: str, name: str) -> Database:
        """Open the database at ``path``; it is neither changed nor waited for.

        Args:
            path: Of a file on this machine.
            name: As the user knows it, for messages.

        Raises:
            TraceFormatError: it is no database, is encrypted, damaged at its start or was copied
                while a program still wrote to it.
            OSError: it cannot be read.
        """
        layout = layout_of(path, name)
        connection = connect(path, name)
        try:
            return cls(connection, layout, name)
        except sqlite3.Error as error:
            connection.close()
            raise damaged_database(name, f"SQLite says: {error}") from None

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def ints(self, table: str, columns: Sequence[str]) -> dict[str, Int64]:
        """Columns of a table as integers, by name: :data:`ABSENT` for null, for a column or a table
        that is absent and for what is no integer (which is counted in ``quality``). Texts of digits
        and whole reals are integers."""
        parts: dict[str, list[Int64]] = {column: [] for column in columns}
        for rows in self._chunks(table, columns):
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                values, wrong = ints_of(cells)
                parts[column].append(values)
                self._mistyped(table, column, wrong)
        return {column: _joined(parts[column], np.int64) for column in columns}

    def floats(self, table: str, columns: Sequence[str]) -> dict[str, Float64]:
        """Columns of a table as numbers; as :meth:`ints`, with NaN in place of :data:`ABSENT`."""
        parts: dict[str, list[Float64]] = {column: [] for column in columns}
        for rows in self._chunks(table, columns):
            for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                values, wrong = floats_of(cells)
                parts[column].append(values)
                self._mistyped(table, column, wrong)
        return {column: _joined(parts[column], np.float64) for column in columns}

    def texts(self, table: str, column: str) -> list[str | None]:
        """A column of a table as texts; None for null, for an absent column and for bytes (which
        are counted in ``quality``). Numbers are texts, and bytes that are no text become U+FFFD."""
        texts: list[str | None] = []
        for rows in self._chunks(table, (column,)):
            part, wrong = texts_of([cell for (cell,) in rows])
            texts += part
            self._mistyped(table, column, wrong)
        return texts

    def rows(self, table: str, columns: Sequence[str]) -> list[Row]:
        """The rows of a small table, with the cells of these columns as they are: int, float, str,
        bytes or None; None for absent columns."""
        return [row for rows in self._chunks(table, columns) for row in rows]

    def count(self, table: str) -> int:
        """How many rows a table has; 0 for one that is absent."""
        return sum(len(rows) for rows in self._chunks(table, ()))

    def _chunks(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        """Rows of a table, some at once, until its end or the first page that is damaged."""
        present = self.tables.get(table)
        if present is None:
            return
        wanted = ", ".join(quoted(each) if each in present else "NULL" for each in columns)
        most = self._layout.pages_present * self._layout.page_bytes // SMALLEST_ROW_BYTES
        try:
            cursor = self._connection.execute(f"SELECT {wanted or 'NULL'} FROM {quoted(table)}")
            rows: list[Row] = []
            while most > 0:
                rows.extend(islice(cursor, ROWS_AT_ONCE))
                if not rows:
                    return
                most -= len(rows)
                yield rows
                rows = []
        except sqlite3.Error as error:
            self.quality.add("database_damaged", 1, f"{table}: {error}")
            if rows:
                yield rows
        if most <= 0:
            self.quality.add("database_damaged", 1, f"{table}: more rows than fit into the file")

    def _read_tables(self) -> dict[str, tuple[str, ...]]:
        found = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
        )
        names = [name for (name,) in found.fetchall() if isinstance(name, str)]
        tables = {name: self._columns_of(name) for name in names if "\0" not in name}
        return {name: columns for name, columns in tables.items() if columns}

    def _columns_of(self, table: str) -> tuple[str, ...]:
        described = self._connection.execute(f"PRAGMA table_info({quoted(table)})")
        return tuple(column[1] for column in described.fetchall())

    def _mistyped(self, table: str, column: str, count: int) -> None:
        self.quality.add("database_cell", count, f"{table}.{column}")


def quoted(identifier: str) -> str:
    """A name of a table or column as SQL takes it literally."""
    return '"' + identifier.replace('"', '""') + '"'


def _joined(parts: list[Any], dtype: type[np.generic]) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
