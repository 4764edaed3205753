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
