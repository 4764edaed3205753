"""The tables of a rocpd database: one set per process, or rows of several told apart by a guid.

Every table is named ``rocpd_<kind>_<uuid>``; views of the same names join the sets of all
processes and are not used. Ids are unique within a guid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.quality import QualityReport

KINDS = (
    "metadata", "string", "info_node", "info_process", "info_thread", "info_agent", "info_queue",
    "info_stream", "info_category", "info_pmc", "info_kernel_symbol", "event", "pmc_event", "track",
    "timestamp", "region", "sample", "kernel_dispatch", "memory_copy", "memory_allocate",
)  # fmt: skip
"""Kinds of tables that are read."""

_TABLE = re.compile(rf"rocpd_(?:{'|'.join(KINDS)})(_\w*)?", re.ASCII)
"""A table, and the end of its name that all tables of a set share."""


class TableRows:
    """The rows of one table that belong to one process.

    Args:
        database: The database.
        table: A table, which may be missing.
        rows: Numbers of the rows; None for all.
    """

    def __init__(self, database: Database, table: str, rows: Int64 | None) -> None:
        self._database = database
        self._table = table
        self._rows = rows
        self.columns = frozenset(database.tables.get(table, ()))

    def __len__(self) -> int:
        return self._database.count(self._table) if self._rows is None else len(self._rows)

    def ints(self, *columns: str) -> dict[str, Int64]:
        """Columns of integers; ``ABSENT`` where there is none."""
        if not len(self):
            return {name: np.empty(0, np.int64) for name in columns}
        read = self._database.ints(self._table, columns)
        if self._rows is None:
            return read
        return {name: values[self._rows] for name, values in read.items()}

    def floats(self, column: str) -> Float64:
        """A column of numbers; NaN where there is none."""
        values = self._database.floats(self._table, [column])[column]
        return values if self._rows is None else values[self._rows]

    def texts(self, column: str) -> pl.Series:
        """A column of texts; null where there is none."""
        if not len(self):
            return pl.Series([], dtype=pl.String)
        values = self._database.series(self._table, column)
        if not len(values):  # a missing column
            values = pl.Series([None], dtype=pl.String).new_from_index(0, self._all_count())
        return values if self._rows is None else values.gather(self._rows)

    def _all_count(self) -> int:
        return self._database.count(self._table)


class ProcessTables:
    """The tables of one process.

    Args:
        database: The database.
        suffix: The end of the tables' names.
        rows_of: Table → numbers of its rows; None if the tables hold one process.
    """

    def __init__(self, database: Database, suffix: str, rows_of: dict[str, Int64] | None) -> None:
        self._database = database
        self._suffix = suffix
        self._rows_of = rows_of

    def __getitem__(self, kind: str) -> TableRows:
        """The rows of the table of a kind, ``"info_agent"``; none if it is missing."""
        table = f"rocpd_{kind}{self._suffix}"
        rows = None if self._rows_of is None else self._rows_of.get(table, _NO_ROWS)
        if table not in self._database.tables:
            rows = _NO_ROWS
        return TableRows(self._database, table, rows)


_NO_ROWS = np.empty(0, np.int64)


def process_tables(database: Database, quality: QualityReport) -> list[ProcessTables]:
    """The tables of every process of a database, up to the limit ``processes``; ``quality`` counts
    the others."""
    sets: dict[str, list[str]] = {}
    for table in database.tables:
        match = _TABLE.fullmatch(table)
        if match is not None:
            sets.setdefault(match[1] or "", []).append(table)
    most = UNLIMITED.count("processes")
    tables: list[ProcessTables] = []
    for suffix in list(sets)[:most]:
        rows_by_guid: list[dict[str, Int64] | None] = [*_rows_by_guid(database, sets[suffix])]
        tables += [ProcessTables(database, suffix, rows) for rows in rows_by_guid or [None]]
    left_out = len(sets) - most + max(0, len(tables) - most)
    quality.add("entries_left_out", left_out, UNLIMITED.described("processes"))
    return tables[:most]


def _rows_by_guid(database: Database, tables: Sequence[str]) -> list[dict[str, Int64]]:
    """Per guid: table → numbers of its rows; empty if there is not more than one guid."""
    numbers: dict[str, int] = {}
    codes: dict[str, Int64] = {}
    for table in tables:
        if "guid" in database.tables.get(table, ()):
            text_code, texts = database.codes(table, "guid")
            known = [numbers.setdefault(text, len(numbers)) for text in texts]
            codes[table] = np.array([*known, -1], np.int64)[text_code]
    if len(numbers) < 2:
        return []
    rows_by_guid: list[dict[str, Int64]] = [{} for _ in numbers]
    for table, code in codes.items():
        order = np.argsort(code, kind="stable")
        present, first = np.unique(code[order], return_index=True)
        parts = np.split(order, first[1:]) if len(order) else []
        for guid, rows in zip(present.tolist(), parts, strict=True):
            if guid >= 0:
                rows_by_guid[guid][table] = rows
    return rows_by_guid


class Lookup:
    """Finds rows by id; among several rows with one id the first counts."""

    def __init__(self, ids: Int64) -> None:
        self._known, self._first = np.unique(ids, return_index=True)

    def rows(self, ids: Int64) -> Int64:
        """Per id its row, -1 if there is none."""
        return np.append(self._first, -1)[positions_in(self._known, ids)]

    def values(self, ids: Int64, column: Int64) -> Int64:
        """Per id the value of its row, ``ABSENT`` if there is none."""
        return np.append(column, ABSENT)[self.rows(ids)]


class TextLookup:
    """Finds texts by id."""

    def __init__(self, ids: Int64, texts: pl.Series) -> None:
        self._lookup = Lookup(ids)
        self._texts = texts

    def distinct(self, ids: Int64) -> tuple[list[str | None], Int64]:
        """The texts of the distinct ids, None for ids without one; and per id the position of its
        text."""
        known, inverse = distinct(ids)
        rows = [None if row < 0 else row for row in self._lookup.rows(known).tolist()]
        texts: list[str | None] = self._texts.gather(pl.Series(rows, dtype=pl.Int64)).to_list()
        return texts, inverse
