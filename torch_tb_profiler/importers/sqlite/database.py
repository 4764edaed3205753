"""A database as columns of numbers and texts: only those that are asked for are read.

Importers name the tables and columns they know; nothing else of the file reaches them. Views,
triggers and virtual tables of a file are never used. Tables are decoded from their pages, large
ones in pieces that several processes read; SQLite itself gives the schema, and the few tables that
are stored otherwise.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.importers.protocol import Reading, read_in_turn
from torch_tb_profiler.importers.sqlite.opening import connect, damaged_database, page_file
from torch_tb_profiler.importers.sqlite.packed import unpacked
from torch_tb_profiler.importers.sqlite.pages import Leaves, PageFile, leaves_of
from torch_tb_profiler.importers.sqlite.parts import (
    How,
    Part,
    Piece,
    Stored,
    Wanted,
    absent_column,
    read_piece,
)
from torch_tb_profiler.importers.sqlite.queries import queried_parts
from torch_tb_profiler.importers.sqlite.tables import Table, tables_of
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

PIECE_BYTES = 4 << 20
LARGE_BYTES = 16 << 20
"""A table from which other processes help."""

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
        self._held: dict[str, dict[Wanted, list[Any]]] = {}
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

    def preload(
        self,
        *,
        ints: Mapping[str, Sequence[str]] | None = None,
        floats: Mapping[str, Sequence[str]] | None = None,
        codes: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Read columns of several tables at once, each table once and all cores together; they are
        kept, in little memory, for :meth:`ints`, :meth:`floats`, :meth:`codes` and :meth:`series`
        until :meth:`release`.

        Args:
            ints: Table → columns that will be wanted as integers.
            floats: … as numbers.
            codes: … as texts.
        """
        wanted: dict[str, list[Wanted]] = {}
        given: tuple[tuple[How, Mapping[str, Sequence[str]] | None], ...] = (
            ("ints", ints),
            ("floats", floats),
            ("codes", codes),
        )
        for how, tables in given:
            for table, columns in (tables or {}).items():
                wanted.setdefault(table, []).extend(Wanted(column, how) for column in columns)
        self._load({table: self._present(table, each) for table, each in wanted.items()})

    def release(self, table: str) -> None:
        """Let go of the columns of a table that :meth:`preload` kept."""
        self._held.pop(table, None)

    def ints(self, table: str, columns: Sequence[str]) -> dict[str, Int64]:
        """Columns of a table as integers, by name: ``ABSENT`` for null, for a column or a table
        that is absent and for what is no integer (which is counted in ``quality``). Texts of digits
        and whole reals are integers."""
        read = self._read(table, columns, "ints")
        return {name: unpacked(read.pop(name)) for name in tuple(read)}

    def floats(self, table: str, columns: Sequence[str]) -> dict[str, Float64]:
        """Columns of a table as numbers; as :meth:`ints`, with NaN in place of ``ABSENT``."""
        read = self._read(table, columns, "floats")
        return {name: unpacked(read.pop(name)).view(np.float64) for name in tuple(read)}

    def codes(self, table: str, column: str) -> tuple[Int32, list[str]]:
        """A column of a table as texts: a code of each row, -1 for null, for an absent column and
        for bytes (which are counted in ``quality``), and the distinct texts behind the codes.
        Numbers are texts, and bytes of texts that are none become U+FFFD."""
        known: dict[str, int] = {}
        joined = [np.empty(0, np.int32)]
        for codes, texts in self._read(table, (column,), "codes")[column]:
            own = [known.setdefault(text, len(known)) for text in texts]
            joined.append(np.array([*own, -1], np.int32)[codes])
        return np.concatenate(joined), list(known)

    def series(self, table: str, column: str) -> pl.Series:
        """A column of a table as a series of texts; as :meth:`codes`, with null for -1."""
        codes, texts = self.codes(table, column)
        known = pl.Series(column, [*texts, None], pl.String)
        return known.gather(np.where(codes < 0, len(texts), codes))

    def texts(self, table: str, column: str) -> list[str | None]:
        """A column of a small table as texts; as :meth:`codes`, with None for -1."""
        codes, texts = self.codes(table, column)
        shown = [*texts, None]
        return [shown[code] for code in codes.tolist()]

    def rows(self, table: str, columns: Sequence[str]) -> list[Row]:
        """The rows of a small table, with the cells of these columns as they are: int, float, str,
        bytes or None; None for absent columns."""
        read = self._read(table, columns, "objects")
        return list(zip(*(chain(*read[column]) for column in columns), strict=True))

    def count(self, table: str) -> int:
        """How many rows a table has; 0 for one that is absent."""
        if table in self._known and table not in self._rows:
            self._load({table: []})
        return self._rows.get(table, 0)

    def _read(self, table: str, columns: Sequence[str], how: How) -> dict[str, list[Any]]:
        """Of each column its values, part by part."""
        wanted = self._present(table, [Wanted(column, how) for column in columns])
        kept = self._held.get(table, {})
        if any(each not in kept for each in wanted):
            self._load({table: [each for each in wanted if each not in kept]})
        held = dict(self._held.get(table, {}))
        if kept:
            self._held[table] = kept
        else:
            self._held.pop(table, None)
        rows = self.count(table)
        return {
            column: held.get(Wanted(column, how)) or [absent_column(rows, how)]
            for column in columns
        }

    def _present(self, table: str, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Those of the wanted columns that the table has, each once."""
        columns = self.tables.get(table, ())
        return [each for each in dict.fromkeys(wanted) if each.name in columns]

    def _load(self, wanted: Mapping[str, list[Wanted]]) -> None:
        """Read columns that their tables have, and hold them."""
        tables = {name: columns for name, columns in wanted.items() if name in self._known}
        for name, columns in tables.items():
            held = self._held[name] = dict(self._held.get(name, {}))
            held.update((each, []) for each in columns)
        rows, damaged = Counter[str](), Counter[str]()
        wrong = Counter[tuple[str, str]]()
        for name, part in self._parts(tables):
            rows[name] += part.rows
            damaged[name] += part.damaged
            for each, cells, count in zip(tables[name], part.columns, part.wrong, strict=True):
                self._held[name][each].append(cells)
                wrong[name, each.name] += count
        for name in tables:
            self._rows[name] = rows[name]
            left_out = self._leaves[name].damaged if name in self._leaves else 0
            self._damaged[name] = max(damaged[name] + left_out, self._damaged.get(name, 0))
        for cell, count in wrong.items():  # told once, however often a column is read
            self._mistyped[cell] = max(count, self._mistyped.get(cell, 0))

    def _parts(self, tables: Mapping[str, list[Wanted]]) -> Iterator[tuple[str, Part]]:
        """The rows of tables, some at once."""
        pieces: list[Piece] = []
        for name, columns in tables.items():
            table = self._known[name]
            if table.root and self._file.is_utf8:
                pieces += self._pieces(name, table, columns)
            else:
                known = self._rows.get(name)
                most = self._file.size_bytes // SMALLEST_ROW_BYTES if known is None else known
                for part in queried_parts(
                    self._connection, name, columns, most=most, exactly=known is not None
                ):
                    yield name, part
        pages = sum(len(piece.pages) for piece in pieces)
        is_large = pages * self._file.page_bytes >= LARGE_BYTES
        read = self._reading.read_pieces if is_large else read_in_turn
        for piece, part in read(iter(pieces), read_piece):
            if piece.table not in self._rows:
                self._used_bytes += len(piece.pages) * self._file.page_bytes
            self._reading.progress(self._used_bytes)
            yield piece.table, part

    def _pieces(self, name: str, table: Table, columns: list[Wanted]) -> Iterator[Piece]:
        if name not in self._leaves:
            self._leaves[name] = leaves_of(self._file, table.root)
        pages = self._leaves[name].pages
        stored = tuple(
            Stored(table.places[each.name], each.how, each.name in table.reals) for each in columns
        )
        step = max(1, PIECE_BYTES // self._file.page_bytes)
        for first in range(0, len(pages), step):
            yield Piece(self._file, name, pages[first : first + step], stored)
