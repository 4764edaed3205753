"""A database as columns of numbers and texts; only requested columns are read.

Importers name the tables and columns they know and get nothing else. Views, triggers and virtual
tables of a file are never used. Tables are decoded from their pages, large ones in pieces that
several processes read; SQLite itself reads the schema, and the few tables that have another layout.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading, read_sequentially
from torch_tb_profiler.importers.sqlite.opening import (
    connect,
    damaged_database_error,
    open_page_file,
)
from torch_tb_profiler.importers.sqlite.packed import unpack
from torch_tb_profiler.importers.sqlite.pages import LeafPages, PageFile, find_leaves
from torch_tb_profiler.importers.sqlite.pieces import (
    CellType,
    ColumnRequest,
    StoredColumn,
    TablePart,
    TablePiece,
    absent_column,
    read_piece,
)
from torch_tb_profiler.importers.sqlite.queries import query_parts
from torch_tb_profiler.importers.sqlite.tables import Schema, TableLayout
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

PIECE_BYTES = 4 << 20
PARALLEL_BYTES = 16 << 20
"""Size from which a table is read by several processes."""

COLUMNS_AT_ONCE = 64
"""Rows with more columns before the last one that is read are read in smaller pieces."""

MOST_PAGES_PER_LEAF = 64
"""Each leaf of a small table may have as many pages of long rows beside it, or more: the fewer
leaves of a file a table has, the smaller its pieces."""

STEPS_BETWEEN_LOOKS = 100_000
"""So many instructions of SQLite's machine, some milliseconds, pass between looks at the time."""

DOCUMENT_BYTES = 64 << 20
"""Of longer documents only the beginning is read."""

UTF8_BYTES = 4
"""Most bytes of a character."""

MIN_ROW_BYTES = 4
"""A row takes at least a pointer of two bytes, a length and an id; this bounds the number of
rows."""

Row = tuple[Any, ...]


class Database:
    """A database opened for reading.

    All reads of a table return the same rows in the same order.

    Attributes:
        tables: Table → names of its columns.
    """

    def __init__(self, connection: sqlite3.Connection, file: PageFile, reading: Reading) -> None:
        self._connection = connection
        self._file = file
        self._reading = reading
        self.tables = Schema(connection, file)
        connection.set_progress_handler(reading.is_over_time, STEPS_BETWEEN_LOOKS)
        self._used_bytes = 0
        self._leaves: dict[str, LeafPages] = {}
        self._columns: dict[str, dict[ColumnRequest, list[Any]]] = {}
        self._rows: dict[str, int] = {}
        self._damaged: dict[str, int] = {}
        self._mistyped: dict[tuple[str, str], int] = {}

    @classmethod
    def open(cls, path: str, name: str, reading: Reading | None = None) -> Database:
        """Open the database at ``path`` without changing it or waiting for locks.

        Args:
            path: A local file.
            name: The name to show in messages.
            reading: How large tables are read, and the progress callback.

        Raises:
            TraceFormatError: it is not a database, is encrypted, damaged at its start or was copied
                while a program still wrote to it.
            OSError: it cannot be read.
        """
        file = open_page_file(path, name)
        connection = connect(path, name)
        try:
            return cls(connection, file, reading or Reading())
        except sqlite3.Error as error:
            connection.close()
            raise damaged_database_error(name, f"SQLite reports: {error}") from None

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
        """Close the file."""
        self._connection.close()

    @property
    def quality(self) -> QualityReport:
        """The damage, and the cells of another type than requested, in what was read so far."""
        report = QualityReport()
        report.add("database_truncated", self._file.declared_pages - self._file.pages)
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
        """Read columns of several tables in parallel, each table once. They stay in memory, packed,
        for :meth:`ints`, :meth:`floats`, :meth:`codes` and :meth:`series` until :meth:`release`.

        Args:
            ints: Table → columns that will be requested as integers.
            floats: Table → columns that will be requested as numbers.
            codes: Table → columns that will be requested as texts.
        """
        wanted: dict[str, list[ColumnRequest]] = {}
        requested: tuple[tuple[CellType, Mapping[str, Sequence[str]] | None], ...] = (
            ("ints", ints),
            ("floats", floats),
            ("codes", codes),
        )
        for cell_type, tables in requested:
            for table, columns in (tables or {}).items():
                wanted.setdefault(table, []).extend(
                    ColumnRequest(column, cell_type) for column in columns
                )
        self._load({table: self._present(table, each) for table, each in wanted.items()})

    def release(self, table: str) -> None:
        """Free the columns of a table that :meth:`preload` read."""
        self._columns.pop(table, None)

    def ints(self, table: str, columns: Sequence[str]) -> dict[str, Int64]:
        """Columns of a table as integers, by name: ``ABSENT`` for null, for a missing column or
        table, and for cells that are not integers (counted in ``quality``). Texts of digits and
        whole reals count as integers."""
        read = self._read(table, columns, "ints")
        return {name: unpack(read.pop(name)) for name in tuple(read)}

    def floats(self, table: str, columns: Sequence[str]) -> dict[str, Float64]:
        """Columns of a table as numbers; like :meth:`ints`, with NaN in place of ``ABSENT``."""
        read = self._read(table, columns, "floats")
        return {name: unpack(read.pop(name)).view(np.float64) for name in tuple(read)}

    def codes(self, table: str, column: str) -> tuple[Int32, list[str]]:
        """A column of a table as texts: the code of each row (-1 for null, for a missing column and
        for bytes, which are counted in ``quality``), and the text of each code. Numbers are
        converted to texts; bytes that are not UTF-8 become U+FFFD."""
        known: dict[str, int] = {}
        joined = [np.empty(0, np.int32)]
        for codes, texts in self._read(table, (column,), "codes")[column]:
            remapped = [known.setdefault(text, len(known)) for text in texts]
            joined.append(np.array([*remapped, -1], np.int32)[codes])
        return np.concatenate(joined), list(known)

    def series(self, table: str, column: str) -> pl.Series:
        """A column of a table as a series of texts; like :meth:`codes`, with null for -1."""
        joined = [pl.Series(column, [], pl.String)]
        for codes, texts in self._read(table, (column,), "codes")[column]:
            known = pl.Series(texts, dtype=pl.String).extend_constant(None, 1)
            joined.append(known.gather(np.where(codes < 0, len(texts), codes)))
        return pl.concat(joined).alias(column)

    def texts(self, table: str, column: str) -> list[str | None]:
        """A column of a small table as texts; like :meth:`codes`, with None for -1."""
        codes, texts = self.codes(table, column)
        text_by_code = [*texts, None]
        return [text_by_code[code] for code in codes.tolist()]

    def rows(
        self, table: str, columns: Sequence[str], cell_type: CellType = "objects"
    ) -> list[Row]:
        """The rows of a small table, with the cells of these columns as stored: int, float, str,
        bytes or None; None for missing columns."""
        read = self._read(table, columns, cell_type)
        return list(zip(*(chain(*read[column]) for column in columns), strict=True))

    def count(self, table: str) -> int:
        """Number of rows of a table; 0 for a missing table."""
        if table in self.tables and table not in self._rows:
            self._load({table: []})
        return self._rows.get(table, 0)

    def _read(
        self, table: str, columns: Sequence[str], cell_type: CellType
    ) -> dict[str, list[Any]]:
        """Per column its values, part by part."""
        wanted = self._present(table, [ColumnRequest(column, cell_type) for column in columns])
        preloaded = self._columns.get(table, {})
        if any(each not in preloaded for each in wanted):
            self._load({table: [each for each in wanted if each not in preloaded]})
        loaded = dict(self._columns.get(table, {}))
        if preloaded:
            self._columns[table] = preloaded
        else:
            self._columns.pop(table, None)
        rows = self.count(table)
        return {
            column: loaded.get(ColumnRequest(column, cell_type)) or [absent_column(rows, cell_type)]
            for column in columns
        }

    def _present(self, table: str, wanted: Sequence[ColumnRequest]) -> list[ColumnRequest]:
        """Those of the requested columns that the table has, each once."""
        columns = self.tables.get(table, ())
        return [each for each in dict.fromkeys(wanted) if each.name in columns]

    def _load(self, wanted: Mapping[str, list[ColumnRequest]]) -> None:
        """Read columns that their tables have into ``_columns``."""
        tables = {name: columns for name, columns in wanted.items() if name in self.tables}
        for name, columns in tables.items():
            cells_by_column = self._columns[name] = dict(self._columns.get(name, {}))
            cells_by_column.update((each, []) for each in columns)
        rows, damaged = Counter[str](), Counter[str]()
        mistyped = Counter[tuple[str, str]]()
        for name, part in self._parts(tables):
            rows[name] += part.rows
            damaged[name] += part.damaged
            for each, cells, count in zip(tables[name], part.columns, part.mistyped, strict=True):
                is_text = each.cell_type == "codes"
                self._columns[name][each].append(_compact(*cells) if is_text else cells)
                mistyped[name, each.name] += count
        for name in tables:
            self._rows[name] = rows[name]
            left_out = self._leaves[name].damaged if name in self._leaves else 0
            self._damaged[name] = max(damaged[name] + left_out, self._damaged.get(name, 0))
        for cell, count in mistyped.items():  # counted once, however often a column is read
            self._mistyped[cell] = max(count, self._mistyped.get(cell, 0))

    def _parts(self, tables: Mapping[str, list[ColumnRequest]]) -> Iterator[tuple[str, TablePart]]:
        """The rows of tables, in parts."""
        pieces: list[TablePiece] = []
        for name, columns in tables.items():
            table = self.tables.layout(name)
            assert table is not None
            if table.root and self._file.is_utf8:
                pieces += self._pieces(name, table, columns)
            else:
                known = self._rows.get(name)
                max_rows = self._file.size_bytes // MIN_ROW_BYTES if known is None else known
                for part in query_parts(
                    self._connection,
                    name,
                    columns,
                    max_rows=max_rows,
                    pad=known is not None,
                    most_bytes=_most_bytes(columns),
                ):
                    self._check_time()
                    yield name, part
        pages = sum(len(piece.pages) for piece in pieces)
        is_large = pages * self._file.page_bytes >= PARALLEL_BYTES
        read = self._reading.read_pieces if is_large else read_sequentially
        for piece, part in read(iter(pieces), read_piece):
            if piece.table not in self._rows:
                self._used_bytes += len(piece.pages) * self._file.page_bytes
            self._reading.progress(self._used_bytes)
            self._check_time()
            yield piece.table, part

    def _check_time(self) -> None:
        """Stop where reading takes too long: a part of the columns would not fit the others."""
        if self._reading.is_over_time():
            raise TraceFormatError("reading_stopped", "The database takes too long to read.", "")

    def _pieces(
        self, name: str, table: TableLayout, columns: list[ColumnRequest]
    ) -> Iterator[TablePiece]:
        if name not in self._leaves:
            self._leaves[name] = find_leaves(self._file, table.root)
        pages = self._leaves[name].pages
        stored = tuple(
            StoredColumn(table.positions[each.name], each.cell_type, each.name in table.reals)
            for each in columns
        )
        wide = max(1, max((each.position for each in stored), default=0) // COLUMNS_AT_ONCE)
        ratio = min(MOST_PAGES_PER_LEAF, self._file.pages // max(1, len(pages)))
        step = max(1, PIECE_BYTES // max(wide, ratio) // self._file.page_bytes)
        for first in range(0, len(pages), step):
            yield TablePiece(
                self._file, name, pages[first : first + step], stored, _most_bytes(columns)
            )


def _most_bytes(wanted: Iterable[ColumnRequest]) -> int:
    """Of longer cells only so many bytes are read: more than any text has that is not cut."""
    if any(each.cell_type == "documents" for each in wanted):
        return DOCUMENT_BYTES
    return UTF8_BYTES * (UNLIMITED.count("text_chars") + 1)


def _compact(codes: Int32, texts: Sequence[str]) -> tuple[Int32, pl.Series]:
    """Codes and their texts, which take twice the memory as objects of Python."""
    known = pl.Series(texts, dtype=pl.String)
    most = UNLIMITED.count("text_chars") + 1  # the one shows that it is too long
    return codes, known.str.head(most) if max(map(len, texts), default=0) > most else known
