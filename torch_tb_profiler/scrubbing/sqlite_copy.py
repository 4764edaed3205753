"""Copies SQLite databases table by table into a new one, so that no page of the original is in it.

Numbers and the order of rows stay. Views, indices, triggers, defaults and declared types do not:
no reader needs them, and their SQL is text of the original, which is never run.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.importers.sqlite.opening import damaged_database_error
from torch_tb_profiler.importers.sqlite.tables import quote_identifier
from torch_tb_profiler.knowledge.private_columns import (
    column_key,
    has_plain_texts,
    name_and_value,
    pair_key,
    string_references,
)
from torch_tb_profiler.knowledge.scrubbing import StringReference
from torch_tb_profiler.loading.processes.scratch import scratch_folder
from torch_tb_profiler.scrubbing.cell_values import (
    CellScrubber,
    KnownKey,
    TextForm,
    is_data,
    learnable,
)
from torch_tb_profiler.scrubbing.database_tables import (
    Row,
    StoredDatabase,
    StoredTable,
    stored_database,
)
from torch_tb_profiler.scrubbing.json_values import PROCESS_KEY
from torch_tb_profiler.trace.quality import QualityReport

PAGE_BYTES = 4096
MOST_GROWTH, LEAST_PAGES = 4, 4096
"""A copy takes no more space than this: trees of pages that repeat would fill the disk."""

READ_BYTES = 1 << 20
LEARNED_BYTES = 1 << 20
DAMAGED_TABLE = "database_damaged"

NO_TEXT = b"\xff"
"""Of a text in whose place other data is: it is no UTF-8."""

Keys = dict[int, KnownKey]
"""Row of a table of strings → the key of its text."""


def sqlite_copy(source: Source, cells: CellScrubber, quality: QualityReport) -> Iterator[bytes]:
    """The copy of a database.

    Args:
        source: The database.
        cells: The rules.
        quality: Counts tables that are in the copy in part only.

    Raises:
        TraceFormatError: it cannot be read, or its pages repeat.
        StorageError, OSError: it cannot be read.
        UnpackLimitError: it exceeds a limit of unpacking.
    """
    with scratch_folder() as folder, stored_database(source) as original:
        path = folder / "copy.sqlite"
        _DatabaseCopy(original, cells).write(path, source.name)
        for table in original.damaged:
            quality.add(DAMAGED_TABLE, 1, cells.name(table))
        with path.open("rb") as file:
            while chunk := file.read(READ_BYTES):
                yield chunk


def texts_of_database(source: Source) -> Iterator[bytes]:
    """All texts of a database with their keys, for names of hosts and users; errors as
    :func:`sqlite_copy`."""
    with stored_database(source) as original:
        parts: list[bytes] = []
        size = 0
        for table in original.tables():
            columns = tuple(table.columns[at] for at in table.text_columns)
            keys = [column_key(table.name, column) for column in columns]
            pair = name_and_value(table.name, columns)
            for row in original.rows(table, columns) if columns else ():
                keys_of_row = keys if pair is None else _pair_keys(keys, row, pair)
                for key, cell in zip(keys_of_row, row, strict=True):
                    if cell.__class__ is bytes or cell.__class__ is str:
                        parts.append(learnable(key, _text(cell)))
                        size += len(parts[-1])
                if size >= LEARNED_BYTES:
                    yield b"".join(parts)
                    parts, size = [], 0
        yield b"".join(parts)


def _text(cell: str | bytes) -> str:
    return cell if isinstance(cell, str) else cell.decode("utf-8", "replace")


def _pair_keys(keys: list[str], row: Row, pair: tuple[int, int]) -> list[str]:
    """The keys of a row that is a name and its value."""
    name, value = pair
    keys = [*keys]
    keys[value] = pair_key(str(row[name]))
    return keys


class _DatabaseCopy:
    """One copy while it is written."""

    def __init__(self, original: StoredDatabase, cells: CellScrubber) -> None:
        self._original = original
        self._cells = cells
        self._names: set[str] = set()

    def write(self, path: Path, name: str) -> None:
        """Write the new database."""
        with closing(sqlite3.connect(path, isolation_level=None)) as target:
            for setting in (f"page_size = {PAGE_BYTES}", "journal_mode = OFF", "synchronous = OFF"):
                target.execute(f"PRAGMA {setting}")
            most = LEAST_PAGES + MOST_GROWTH * self._original.size_bytes // PAGE_BYTES
            target.execute(f"PRAGMA max_page_count = {most}")
            try:
                target.execute("BEGIN")
                tables = list(self._original.tables())
                self._learn_processes(tables)
                keys = self._keys_of_strings({table.name.lower(): table for table in tables})
                for table in tables:
                    self._copy(target, table, keys.get(table.name.lower(), {}))
                target.execute("COMMIT")
            except sqlite3.Error as error:
                raise damaged_database_error(name, f"its copy fails: {error}") from error

    def _learn_processes(self, tables: list[StoredTable]) -> None:
        for table in tables:
            for column in table.columns:
                if column_key(table.name, column) == PROCESS_KEY:
                    for (cell,) in self._original.rows(table, (column,)):
                        if isinstance(cell, str):
                            self._cells.add_process(cell)

    def _keys_of_strings(self, tables: dict[str, StoredTable]) -> dict[str, Keys]:
        """Table of strings → row's id → the key that a reference gives its text."""
        result: dict[str, Keys] = {}
        for reference in string_references():
            table = tables.get(reference.table.lower())
            if table is not None and reference.strings.lower() in tables:
                known = result.setdefault(reference.strings.lower(), {})
                known.update(self._referenced(table, reference))
        return result

    def _referenced(self, table: StoredTable, reference: StringReference) -> Keys:
        column = next((c for c in table.columns if c.lower() == reference.column.lower()), None)
        if column is None:
            return {}
        rows = self._original.rows(table, (column,))
        key = KnownKey(reference.key, "plain" if reference.is_plain else "name")
        return {id_: key for (id_,) in rows if isinstance(id_, int)}

    def _copy(self, target: sqlite3.Connection, table: StoredTable, keys: Keys) -> None:
        name = self._distinct(self._cells.name(table.name))
        self._names.add(name.lower())
        taken: set[str] = set()
        columns = []
        for column, affinity in zip(table.columns, table.affinities, strict=True):
            new = self._distinct(self._cells.name(column), taken)
            taken.add(new.lower())
            key = " INTEGER PRIMARY KEY" if column == table.row_id else f" {affinity}"
            columns.append(quote_identifier(new) + key)
        target.execute(f"CREATE TABLE {quote_identifier(name)} ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        rows = self._scrubbed(table, keys)
        target.executemany(f"INSERT INTO {quote_identifier(name)} VALUES ({marks})", rows)

    def _distinct(self, name: str, taken: set[str] | None = None) -> str:
        """A name that no other table or column has, and SQLite accepts."""
        known = self._names if taken is None else taken
        name = name.replace("\0", "")
        while name.lower() in known or name.lower().startswith("sqlite_"):
            name = f"_{name}"
        return name

    def _scrubbed(self, table: StoredTable, keys: Keys) -> Iterable[Row]:
        """The rows of the copy."""
        form: TextForm = "plain" if has_plain_texts(table.name) else "name"
        known = [KnownKey(column_key(table.name, each), form) for each in table.columns]
        pair = name_and_value(table.name, table.columns)
        numbers = {at for at, each in enumerate(known) if self._cells.removes_numbers(each)}
        positions = sorted({*table.text_columns, *numbers})
        rows = self._original.rows(table)
        if not positions:
            return rows
        return self._with_cells(rows, known, positions, pair, keys)

    def _with_cells(
        self,
        rows: Iterable[Row],
        known: list[KnownKey],
        positions: list[int],
        pair: tuple[int, int] | None,
        keys: Keys,
    ) -> Iterator[Row]:
        for row in rows:
            cells = list(row)
            for at in positions:
                cell = row[at]
                if cell is None:
                    continue
                key = known[at]
                if keys:
                    key = keys.get(row[0], key)
                if pair is not None and at == pair[1]:
                    key = KnownKey(pair_key(str(row[pair[0]])), "plain")
                    if isinstance(cell, str) and is_data(cell):
                        cell = cell.encode("utf-8", "surrogatepass") + NO_TEXT
                cells[at] = self._cell(key, cell)
            yield tuple(cells)

    def _cell(self, key: KnownKey, cell: Any) -> Any:
        if isinstance(cell, str):
            return self._cells.text(key, cell)
        if isinstance(cell, bytes):
            return self._cells.data(key, cell)
        return self._cells.number(key, cell)
