"""The tables of a database that is copied: names, affinities, rows; nothing of it is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.sqlite.database import STEPS_BETWEEN_LOOKS
from torch_tb_profiler.importers.sqlite.opening import (
    connect,
    damaged_database_error,
    open_page_file,
)
from torch_tb_profiler.importers.sqlite.tables import ROW_ID, Schema, quote_identifier

LEAST_STEPS, STEPS_PER_BYTE = 20_000_000, 200
"""Instructions of SQLite's machine that reading a database may take: a row takes a few for each of
its cells, which take a byte or more; trees of pages that repeat would take any number."""

INTERNAL = "sqlite_"
"""How tables of SQLite itself begin."""

AFFINITIES = (
    (("INT",), "INTEGER"),
    (("CHAR", "CLOB", "TEXT"), "TEXT"),
    (("BLOB",), ""),
    (("REAL", "FLOA", "DOUB"), "REAL"),
)
"""Words of declared types and the affinity that the first of them gives
(https://www.sqlite.org/datatype3.html#determination_of_column_affinity)."""

Row = tuple[Any, ...]


class StoredTable(Struct, frozen=True):
    """A table.

    Attributes:
        name: Its name.
        columns: Names of its columns that rows store.
        affinities: The affinity of each.
        row_id: The column that is the row's id; empty where none is.
        text_columns: Positions of the columns in which some cell is a text or bytes.
    """

    name: str
    columns: tuple[str, ...]
    affinities: tuple[str, ...]
    row_id: str
    text_columns: tuple[int, ...]


class StoredDatabase:
    """A database open for reading; see :func:`stored_database`.

    Attributes:
        damaged: Names of tables that can be read in part only.
        size_bytes: Size of the file.
    """

    def __init__(
        self, connection: sqlite3.Connection, schema: Schema, name: str, size_bytes: int
    ) -> None:
        self._connection = connection
        self._schema = schema
        self._name = name
        self._looks_left = (LEAST_STEPS + STEPS_PER_BYTE * size_bytes) // STEPS_BETWEEN_LOOKS
        connection.set_progress_handler(self._is_over, STEPS_BETWEEN_LOOKS)
        self.damaged: set[str] = set()
        self.size_bytes = size_bytes

    def tables(self) -> Iterator[StoredTable]:
        """All tables, without those of SQLite itself."""
        for name in sorted(self._schema):
            layout = self._schema.layout(name)
            if layout is None or name.lower().startswith(INTERNAL):
                continue
            info = self._query(f"PRAGMA table_xinfo({quote_identifier(name)})")
            declared = {each[1]: str(each[2]) for each in info}
            row_id = next((key for key, at in layout.positions.items() if at == ROW_ID), "")
            yield StoredTable(
                name,
                layout.columns,
                tuple(_affinity(declared.get(column, "")) for column in layout.columns),
                row_id,
                self._text_columns(name, layout.columns),
            )

    def rows(self, table: StoredTable, columns: tuple[str, ...] = ()) -> Iterator[Row]:
        """The rows of a table in their order, up to the first damaged page.

        Raises:
            TraceFormatError: there are more than any database of its size has.
        """
        listed = ", ".join(map(quote_identifier, columns or table.columns))
        name = quote_identifier(table.name)
        try:
            yield from self._connection.execute(f"SELECT {listed} FROM {name} NOT INDEXED")
        except sqlite3.Error:
            self._check_limit()
            self.damaged.add(table.name)

    def _text_columns(self, name: str, columns: tuple[str, ...]) -> tuple[int, ...]:
        tests = ", ".join(
            f"max(typeof({quote_identifier(column)}) IN ('text', 'blob'))" for column in columns
        )
        rows = self._query(f"SELECT {tests} FROM {quote_identifier(name)} NOT INDEXED")
        if not rows:  # damaged: any column may have some
            return tuple(range(len(columns)))
        return tuple(at for at, has_texts in enumerate(rows[0]) if has_texts)

    def _query(self, statement: str) -> list[Row]:
        try:
            return self._connection.execute(statement).fetchall()
        except sqlite3.Error:
            self._check_limit()
            return []

    def _is_over(self) -> bool:
        self._looks_left -= 1
        return self._looks_left < 0

    def _check_limit(self) -> None:
        if self._looks_left < 0:
            raise TraceFormatError(
                "reading_stopped",
                f"{self._name} holds more rows than any database of its size.",
                "It is damaged, or written to take long. Export it again.",
            )


@contextmanager
def stored_database(source: Source) -> Iterator[StoredDatabase]:
    """Open a database without changing it.

    Args:
        source: The file, which may be packed.

    Raises:
        TraceFormatError: it is none, is encrypted, damaged at its start or was copied too early.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    path = source.local_path()
    file = open_page_file(path, source.name)
    with closing(connect(path, source.name)) as connection:
        try:
            schema = Schema(connection, file)
        except sqlite3.Error as error:
            raise damaged_database_error(source.name, f"SQLite reports: {error}") from None
        yield StoredDatabase(connection, schema, source.name, file.size_bytes)


def _affinity(declared: str) -> str:
    upper = declared.upper()
    if not upper:
        return ""
    for words, affinity in AFFINITIES:
        if any(word in upper for word in words):
            return affinity
    return "NUMERIC"
