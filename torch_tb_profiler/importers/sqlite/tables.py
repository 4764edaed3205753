"""Tables of a database: their columns, and whether their pages can be decoded here."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from torch_tb_profiler.importers.sqlite.pages import PageFile, is_table

MOST_COLUMNS = 2000
"""SQLite allows more only when it is built to."""

ROW_ID = -1
"""The place of a column that is the row's id."""

REAL_WORDS = ("REAL", "FLOA", "DOUB")
OTHER_WORDS = ("INT", "CHAR", "CLOB", "TEXT", "BLOB")
"""Words of declared types (https://www.sqlite.org/datatype3.html#determination_of_column_affinity):
a column with one of the first, and none of the others, holds reals."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: Their names, in order.
        root: The page at which its tree begins; 0 when only SQLite can read the table: without row
            ids, with columns that are computed or were added with a value.
        places: Place of each column in a row, :data:`ROW_ID` for the row's id.
        reals: Columns whose integers are reals.
    """

    columns: tuple[str, ...]
    root: int
    places: dict[str, int]
    reals: frozenset[str]


def tables_of(connection: sqlite3.Connection, file: PageFile) -> dict[str, Table]:
    """The tables of a database, not its views, nor those that a module of SQLite makes up.

    Raises:
        sqlite3.Error: the schema is damaged.
        OSError: the file cannot be read.
    """
    found = connection.execute(
        "SELECT name, rootpage FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    ).fetchall()
    tables: dict[str, Table] = {}
    for name, root in found:
        if isinstance(name, str) and "\0" not in name and isinstance(root, int):
            table = _table(connection, file, name, root)
            if table.columns:
                tables[name] = table
    return tables


def quoted(identifier: str) -> str:
    """A name of a table or column as SQL takes it literally."""
    return '"' + identifier.replace('"', '""') + '"'


def _table(connection: sqlite3.Connection, file: PageFile, name: str, root: int) -> Table:
    described = connection.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
    columns = tuple(column[1] for column in described if not column[6])
    if not _is_plain(described) or not is_table(file, root):
        return Table(columns, 0, {}, frozenset())
    places = {column: place for place, column in enumerate(columns)}
    keys = [column for column in described if column[5]]
    if len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER":
        indices = connection.execute(f"PRAGMA index_list({quoted(name)})").fetchall()
        if not any(index[3] == "pk" for index in indices):
            places[keys[0][1]] = ROW_ID
    reals = frozenset(column[1] for column in described if _is_real(str(column[2]).upper()))
    return Table(columns, root, places, reals)


def _is_plain(described: list[tuple[Any, ...]]) -> bool:
    """Whether rows hold what the columns hold: none is computed or hidden, none has a value that
    rows from before it was added lack."""
    return len(described) <= MOST_COLUMNS and not any(
        column[6] or str(column[4] or "NULL").upper() != "NULL" for column in described
    )


def _is_real(declared: str) -> bool:
    return any(word in declared for word in REAL_WORDS) and not any(
        word in declared for word in OTHER_WORDS
    )
