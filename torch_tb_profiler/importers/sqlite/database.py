"""A database as columns of numbers and texts: only those that are asked for are read.

Importers name the tables and columns they know; nothing else of the file reaches them. Views,
triggers and virtual tables of a file are never used. Tables are decoded from their pages, large
ones in pieces that several processes read; SQLite itself gives the schema, and the few tables that
are stored otherwise.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from types import TracebackType
from typing import Any

import numpy as np

from torch_tb_profiler.importers.protocol import Reading, read_in_turn
from torch_tb_profiler.importers.sqlite.opening import connect, damaged_database, page_file
from torch_tb_profiler.importers.sqlite.pages import Leaves, PageFile, leaves_of
from torch_tb_profiler.importers.sqlite.parts import (
    How,
    Part,
    Piece,
    absent_column,
    part_of,
    read_piece,
)
from torch_tb_profiler.importers.sqlite.tables import Table, quoted, tables_of
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

PIECE_BYTES = 4 << 20
LARGE_BYTES = 16 << 20
"""A table from which other processes help."""

ROWS_AT_ONCE = 1 << 15
SMALLEST_ROW_BYTES = 4
"""A row is a place of two bytes, a length and an id at least: no file has more rows."""

Row = tuple[Any, ...]


class Database:
    """A database that is open for reading.

    All reads of one table have the same rows in the same order.

    Attributes:
        tables: Its tables, each with the names of its columns.
    """

    def __init__(self, connection: sqlite3.Connection, file: PageFile, reading: Reading) -> None:
        self._connection = connection
        self._file = file
        self._reading = reading
        self._known = tables_of(connection, file)
        self.tables: Mapping[str, tuple[str, ...]] = {
            name: table.columns for name, table in self._known.items()
        }
        self._used_bytes = 0
        self._leaves: dict[str, Leaves] = {}
        self._rows: dict[str, int] = {}
        self._damaged: dict[str, int] = {}
        self._mistyped: dict[tuple[str, str], int] = {}

    @classmethod
    def open(cls, path: str, name: str, reading: Reading | None = None) -> Database:
        """Open the database at ``path``; it is neither changed nor waited for.

        Args:
            path: Of a file on this machine.
            name: As the user knows it, for messages.
            reading: How large tables are read, and who is told of it.

        Raises:
            TraceFormatError: it is no database, is encrypted, damaged at its start or was copied
                while a program still wrote to it.
            OSError: it cannot be read.
        """
        file = page_file(path, name)
        connection = connect(path, name)
        try:
            return cls(connection, file, reading or Reading())
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

    @property
    def quality(self) -> QualityReport:
        """What is damaged, or of another type than was asked for, in what was read so far."""
        report = QualityReport()
        report.add("database_truncated", self._file.pages_told - self._file.pages)
        for table, count in self._damaged.items():
            report.add("database_damaged", count, table)
        for (table, column), count in self._mistyped.items():
            report.add("database_cell", count, f"{table}.{column}")
        return report

    def ints(self, table: str, columns: Sequence[str]) -> dict[str, Int64]:
        """Columns of a table as integers, by name: ``ABSENT`` for null, for a column or a table
        that is absent and for what is no integer (which is counted in ``quality``). Texts of digits
        and whole reals are integers."""
        return {
            name: _joined(parts, np.int64) for name, parts in self._read(table, columns, "ints")
        }

    def floats(self, table: str, columns: Sequence[str]) -> dict[str, Float64]:
        """Columns of a table as numbers; as :meth:`ints`, with NaN in place of ``ABSENT``."""
        read = self._read(table, columns, "floats")
        return {name: _joined(parts, np.float64) for name, parts in read}

    def codes(self, table: str, column: str) -> tuple[Int32, list[str]]:
        """A column of a table as texts: a code of each row, -1 for null, for an absent column and
        for bytes (which are counted in ``quality``), and the distinct texts behind the codes.
        Numbers are texts, and bytes of texts that are none become U+FFFD."""
        ((_, parts),) = self._read(table, (column,), "codes")
        known: dict[str, int] = {}
        joined: list[Int32] = []
        for codes, texts in parts:
            own = [known.setdefault(text, len(known)) for text in texts]
            joined.append(np.array([*own, -1], np.int32)[codes])
        return _joined(joined, np.int32), list(known)

    def texts(self, table: str, column: str) -> list[str | None]:
        """A column of a small table as texts; as :meth:`codes`, with None for -1."""
        codes, texts = self.codes(table, column)
        shown = [*texts, None]
        return [shown[code] for code in codes.tolist()]

    def rows(self, table: str, columns: Sequence[str]) -> list[Row]:
        """The rows of a small table, with the cells of these columns as they are: int, float, str,
        bytes or None; None for absent columns."""
        read = self._read(table, columns, "objects")
        return list(zip(*(chain(*parts) for _, parts in read), strict=True))

    def count(self, table: str) -> int:
        """How many rows a table has; 0 for one that is absent."""
        if table not in self._rows:
            self._read(table, (), "ints")
        return self._rows.get(table, 0)

    def _read(self, table: str, columns: Sequence[str], how: How) -> list[tuple[str, list[Any]]]:
        """Of each column its values, part by part."""
        known = self._known.get(table)
        present = [each for each in dict.fromkeys(columns) if known and each in known.columns]
        values: dict[str, list[Any]] = {column: [] for column in columns}
        rows, damaged = 0, 0
        wrong = dict.fromkeys(present, 0)
        for part in self._parts(table, known, present, how) if known else ():
            rows += part.rows
            damaged += part.damaged
            for column, cells, count in zip(present, part.columns, part.wrong, strict=True):
                values[column].append(cells)
                wrong[column] += count
        self._rows[table] = rows
        damaged += self._leaves[table].damaged if table in self._leaves else 0
        self._note(table, damaged, wrong)
        for column, parts in values.items():
            if column not in present:
                parts.append(absent_column(rows, how))
        return [(column, values[column]) for column in columns]

    def _note(self, table: str, damaged: int, wrong: Mapping[str, int]) -> None:
        """What is odd about a table is told once, however often it is read."""
        self._damaged[table] = max(damaged, self._damaged.get(table, 0))
        for column, count in wrong.items():
            self._mistyped[table, column] = max(count, self._mistyped.get((table, column), 0))

    def _parts(self, name: str, table: Table, columns: Sequence[str], how: How) -> Iterator[Part]:
        """The rows of a table, some at once."""
        if not table.root or not self._file.is_utf8:
            yield from self._by_sqlite(name, columns, how)
            return
        is_first = name not in self._leaves
        if is_first:
            self._leaves[name] = leaves_of(self._file, table.root)
        pages = self._leaves[name].pages
        size_bytes = len(pages) * self._file.page_bytes
        places = tuple(table.places[column] for column in columns)
        reals = tuple(column in table.reals for column in columns)
        pieces = (
            Piece(self._file, each, how, places, reals)
            for each in np.array_split(pages, -(-size_bytes // PIECE_BYTES) or 1)
        )
        read = self._reading.read_pieces if size_bytes >= LARGE_BYTES else read_in_turn
        for piece, part in read(pieces, read_piece):
            if is_first:
                self._used_bytes += len(piece.pages) * self._file.page_bytes
            self._reading.progress(self._used_bytes)
            yield part

    def _by_sqlite(self, name: str, columns: Sequence[str], how: How) -> Iterator[Part]:
        """As :meth:`_parts`, by SQLite, which ends at the first page that is damaged. What was read
        first tells how many rows there are."""
        known = self._rows.get(name)
        left = self._file.size_bytes // SMALLEST_ROW_BYTES if known is None else known
        wanted = ", ".join(map(quoted, columns)) or "NULL"
        rows: list[Row] = []
        try:
            cursor = self._connection.execute(f"SELECT {wanted} FROM {quoted(name)}")
            while left > 0:
                rows.extend(islice(cursor, min(ROWS_AT_ONCE, left)))
                if not rows:
                    break
                left -= len(rows)
                yield part_of(rows, len(columns), how)
                rows = []
        except sqlite3.Error:
            left -= len(rows)
            yield part_of(rows, len(columns), how)._replace(damaged=1)
        if known is not None and left:
            yield part_of([(None,) * len(columns)] * left, len(columns), how)


def _joined(parts: list[Any], dtype: type[np.generic]) -> Any:
    """One array of several, which are used up."""
    joined = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])
    parts.clear()
    return joined
