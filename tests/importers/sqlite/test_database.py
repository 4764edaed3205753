"""Reads tables and columns of a database, and only the requested ones."""

from __future__ import annotations

import os
import pickle
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.sqlite import database as module
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT

SCRIPT = """
CREATE TABLE plain (id INTEGER PRIMARY KEY, start TEXT, value REAL, "odd ""name" TEXT);
INSERT INTO plain VALUES (7, '1736410576395167660', 2, 'a'), (8, 'late', NULL, X'00'),
                         (9, NULL, 1.5, 3);
CREATE TABLE keyed (name TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID;
INSERT INTO keyed VALUES ('a', 1), ('b', 2);
CREATE TABLE grown (number INTEGER);
INSERT INTO grown VALUES (1);
ALTER TABLE grown ADD COLUMN later INTEGER DEFAULT 5;
CREATE TABLE computed (number INTEGER, twice INTEGER GENERATED ALWAYS AS (number * 2) VIRTUAL);
INSERT INTO computed VALUES (4);
CREATE TABLE empty (number INTEGER);
CREATE VIEW seen AS SELECT load_extension('/tmp/none') AS number;
CREATE TRIGGER on_insert AFTER INSERT ON empty BEGIN SELECT 1; END;
CREATE TABLE backwards (number INTEGER PRIMARY KEY DESC);
INSERT INTO backwards VALUES (3);
"""


def create_database(folder: Path, script: str = SCRIPT, *, encoding: str = "UTF-8") -> Path:
    path = folder / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.executescript(script)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_any_name_of_a_file(tmp_path: Path) -> None:
    path = os.fsdecode(bytes(create_database(tmp_path)) + b" ?a=1&b#c%20\xff.sqlite")
    os.rename(tmp_path / "a.sqlite", path)
    with Database.open(path, "a.sqlite") as database:
        assert database.count("keyed") == 2


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_tables_and_columns(tmp_path: Path, encoding: str) -> None:
    path = create_database(tmp_path, encoding=encoding)
    before = path.read_bytes()
    with Database.open(str(path), "a.sqlite") as database:
        assert dict(database.tables) == {
            "plain": ("id", "start", "value", 'odd "name'),
            "keyed": ("name", "number"),
            "grown": ("number", "later"),
            "computed": ("number",),
            "empty": ("number",),
            "backwards": ("number",),
        }
        assert database.ints("plain", ["id", "start", "nothing"])["start"].tolist() == [
            1736410576395167660, ABSENT, ABSENT,
        ]  # fmt: skip
        assert database.ints("plain", ["id", "nothing"])["id"].tolist() == [7, 8, 9]
        assert database.ints("plain", ["nothing"])["nothing"].tolist() == [ABSENT] * 3
        assert database.texts("plain", 'odd "name') == ["a", None, "3"]
        assert database.texts("plain", "value") == ["2.0", None, "1.5"]
        assert str(database.floats("plain", ["value"])["value"]) == "[2.  nan 1.5]"
        assert database.quality.counts == {"database_cell": 2}
        assert database.rows("keyed", ["number", "none", "name"]) == [
            (1, None, "a"),
            (2, None, "b"),
        ]
        assert database.rows("grown", ["number", "later"]) == [(1, 5)]
        assert database.ints("computed", ["number", "twice"])["number"].tolist() == [4]
        assert database.rows("backwards", ["number"]) == [(3,)]
        assert [database.count(name) for name in ("plain", "keyed", "empty", "seen")] == [
            3,
            2,
            0,
            0,
        ]
        assert database.rows("seen", ["number"]) == []
        assert database.texts("seen", "number") == []
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_large_tables_are_read_in_pieces_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", 4096)
    monkeypatch.setattr(module, "PARALLEL_BYTES", 8192)
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
    path = create_database(
        tmp_path,
        f"CREATE TABLE t (a INTEGER, b TEXT); {rows} INSERT INTO t SELECT i, 'x' || (i % 9) FROM n;"
        f"CREATE TABLE u (c REAL); {rows} INSERT INTO u SELECT i / 2.0 FROM n;",
    )
    tables: list[str] = []
    progress: list[int] = []

    def elsewhere(
        pieces: Iterator[Any], read_piece: Callable[[Any], Any], *, in_threads: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        for piece in pieces:
            tables.append(piece.table)
            there = pickle.loads(pickle.dumps(piece))
            yield piece, pickle.loads(pickle.dumps(read_piece(there)))

    reading = Reading(progress=progress.append, read_pieces=elsewhere)
    with Database.open(str(path), "a.sqlite", reading) as database:
        database.preload(ints={"t": ["a"], "none": ["a"]}, codes={"t": ["b"]}, floats={"u": ["c"]})
        read = len(tables)
        assert read > 4
        assert database.ints("t", ["a"])["a"].tolist() == list(range(1, 2001))
        codes, texts = database.codes("t", "b")
        assert [texts[code] for code in codes[:9]] == [f"x{number % 9}" for number in range(1, 10)]
        assert database.floats("u", ["c"])["c"].tolist() == [i / 2 for i in range(1, 2001)]
        assert database.count("u") == 2000
        assert len(tables) == read
        database.release("t")
        assert database.ints("t", ["a"])["a"].tolist() == list(range(1, 2001))
        assert len(tables) > read
    assert progress == sorted(progress)
    assert 0 < progress[-1] <= path.stat().st_size


LONG = 900
"""Characters of a long text in a database with pages of 512 bytes."""


@pytest.fixture
def long_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts and bytes longer than the limit of 300 characters, on several pages each."""
    monkeypatch.setenv(LIMITS_VARIABLE, "text_chars=300")
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 512")
        for table, more in (("plain", ""), ("keyed", "WITHOUT ROWID")):
            columns = "(id INTEGER PRIMARY KEY, text TEXT, number INTEGER, other TEXT)"
            connection.execute(f"CREATE TABLE {table} {columns} {more}")
            rows = [(n, f"{n}" + "é" * LONG * n, n * 7, "x" * LONG) for n in range(6)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
            connection.execute(f"INSERT INTO {table} VALUES (9, ?, 63, NULL)", (b"b" * 5000,))
        connection.commit()
    return path


@pytest.mark.parametrize("table", ["plain", "keyed"])
def test_of_long_texts_only_the_beginning_is_read(long_texts: Path, table: str) -> None:
    with Database.open(str(long_texts), "a.sqlite") as database:
        expected = [(f"{n}" + "é" * LONG * n)[:301] for n in range(6)]
        assert database.texts(table, "text") == [*expected, None]
        assert database.series(table, "text").to_list() == [*expected, None]
        assert database.ints(table, ["number"])["number"].tolist() == [0, 7, 14, 21, 28, 35, 63]
        assert database.texts(table, "other") == [*["x" * 301] * 6, None]
        (*_, last) = database.rows(table, ["text"])
        assert last == (b"b" * 1204,)
        assert not any(database.quality.counts.get(code) for code in ("database_damaged",))


def test_pages_that_are_not_needed_are_not_read(
    long_texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []
    opened = os.fdopen

    class Counted:
        def __init__(self, file: Any) -> None:
            self._file = file

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self._file.close()

        def seek(self, at: int) -> None:
            self._file.seek(at)

        def read(self, size: int) -> bytes:
            lengths.append(size)
            return bytes(self._file.read(size))

        def readinto(self, target: memoryview) -> int:
            return int(self._file.readinto(target))

    with Database.open(str(long_texts), "a.sqlite") as database:
        monkeypatch.setattr(os, "fdopen", lambda *args, **more: Counted(opened(*args, **more)))
        assert database.ints("plain", ["number"])["number"][5] == 35
    assert sum(size > 100 for size in lengths) <= 6, "a page per row with its number"
    assert sum(size == 4 for size in lengths) > 40, "of others only where the next one is"


def test_a_view_with_the_entry_of_a_table_is_no_table(tmp_path: Path) -> None:
    path = create_database(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        change = "UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = 'seen'"
        connection.execute(change)
        connection.commit()
    with Database.open(str(path), "a.sqlite") as database:
        assert "seen" not in database.tables
        assert database.rows("seen", ["number"]) == []


@pytest.mark.parametrize("table", ["plain", "keyed"])
def test_a_database_that_takes_too_long_is_refused(tmp_path: Path, table: str) -> None:
    reading = Reading(is_over_time=lambda: True)
    path = create_database(tmp_path)
    with Database.open(str(path), "a.sqlite", reading) as database:
        with pytest.raises(TraceFormatError) as error:
            database.texts(table, database.tables[table][0])
        assert error.value.code == "reading_stopped"
