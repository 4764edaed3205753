"""The tables of a rocpd database: one set per process, or rows of several told apart by a guid.

Every table is named ``rocpd_<kind>_<uuid>``; views of the same names join the sets of all
processes and are not used. Ids are unique within a guid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int64
from torch_tb_profiler.trace.lookup import positions_in

_SET = re.compile(r"rocpd_(?:region|kernel_dispatch|string)(_\w*)?")
"""A table that every set has; what follows its kind is the end of all names of the set."""

MAX_SETS = 4096
"""More processes than one file holds."""


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


def process_tables(database: Database) -> Iterator[ProcessTables]:
    """The tables of every process of a database."""
    suffixes = dict.fromkeys(
        match[1] or "" for table in database.tables if (match := _SET.fullmatch(table))
    )
    for suffix in list(suffixes)[:MAX_SETS]:
        tables = [name for name in database.tables if name.endswith(suffix)]
        tables = [name for name in tables if _is_of_set(name, suffix, suffixes)]
        rows_by_guid = _rows_by_guid(database, tables)
        if len(rows_by_guid) < 2:
            yield ProcessTables(database, suffix, None)
            continue
        for rows_of in rows_by_guid[:MAX_SETS]:
            yield ProcessTables(database, suffix, rows_of)


def _is_of_set(table: str, suffix: str, suffixes: Sequence[str] | dict[str, None]) -> bool:
    """Whether a table belongs to the set of a suffix: not to that of a longer one."""
    if not table.startswith("rocpd_"):
        return False
    return bool(suffix) or not any(each and table.endswith(each) for each in suffixes)


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
