"""Databases that are damaged, cut, encrypted or unfinished: an error with a next step, or the rows
that are left and how much is not."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.sqlite.database import Database

PAGE_BYTES = 512
ROWS = 1500


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of many pages: the tree of its table has three levels."""
    path = tmp_path_factory.mktemp("sqlite") / "whole.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("CREATE TABLE t (number INTEGER, text TEXT, long TEXT)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?)",
            ((row, f"text {row}", "x" * (1500 if row % 200 == 0 else 40)) for row in range(ROWS)),
        )
        connection.commit()
    return path.read_bytes()


def numbers(data: bytes, folder: Path) -> tuple[list[int], dict[str, int]]:
    """The numbers of the rows that can be read, and what is counted."""
    path = folder / "a.sqlite"
    path.write_bytes(data)
    with Database.open(str(path), path.name) as database:
        read = database.ints("t", ["number"])["number"].tolist()
        assert len(database.texts("t", "long")) == len(read)
        assert len(database.rows("t", ["text", "number"])) == len(read) == database.count("t")
        return read, database.quality.counts


def page_of(data: bytes, kind: int) -> int:
    """The number of the second page of a kind."""
    starts = range(PAGE_BYTES, len(data), PAGE_BYTES)
    return [start // PAGE_BYTES + 1 for start in starts if data[start] == kind][1]


def changed(data: bytes, page: int, offset: int, by: bytes) -> bytes:
    at = (page - 1) * PAGE_BYTES + offset
    return data[:at] + by + data[at + len(by) :]


def test_an_undamaged_database(whole: bytes, tmp_path: Path) -> None:
    assert numbers(whole, tmp_path) == (list(range(ROWS)), {})


def test_a_blank_page_loses_its_rows_only(whole: bytes, tmp_path: Path) -> None:
    leaf = page_of(whole, 0x0D)
    read, counts = numbers(changed(whole, leaf, 0, bytes(PAGE_BYTES)), tmp_path)
    assert counts == {"database_damaged": 1}
    assert ROWS - 20 < len(read) < ROWS
    assert read == sorted(set(range(ROWS)) - (set(range(ROWS)) - set(read)))


def test_reading_a_circular_tree_terminates(whole: bytes, tmp_path: Path) -> None:
    inner = page_of(whole, 0x05)
    data = changed(whole, inner, 8, inner.to_bytes(4, "big"))
    read, counts = numbers(data, tmp_path)
    assert 0 < len(read) < ROWS
    assert counts["database_damaged"] >= 1


def test_cells_beyond_a_page_are_left_out(whole: bytes, tmp_path: Path) -> None:
    leaf = page_of(whole, 0x0D)
    read, counts = numbers(changed(whole, leaf, 8, b"\xff\xff\x00\x01"), tmp_path)
    assert (len(read), counts) == (ROWS - 2, {"database_damaged": 2})


def test_a_lost_overflow_page_loses_only_its_cell(whole: bytes, tmp_path: Path) -> None:
    pages = range(1, len(whole) // PAGE_BYTES + 1)
    rest = next(page for page in pages if whole.startswith(b"x" * 300, (page - 1) * PAGE_BYTES + 4))
    data = changed(whole, rest, 0, b"\xff\xff\xff\xff")
    path = tmp_path / "a.sqlite"
    path.write_bytes(data)
    with Database.open(str(path), path.name) as database:
        assert database.ints("t", ["number"])["number"].tolist() == list(range(ROWS))
        assert database.quality.counts == {}
        assert [text for text in database.texts("t", "long") if text is None] == [None]
        assert database.quality.counts == {"database_damaged": 1}


def test_a_database_that_was_cut_keeps_its_first_rows(whole: bytes, tmp_path: Path) -> None:
    read, counts = numbers(whole[: len(whole) * 3 // 4], tmp_path)
    assert 0 < len(read) < ROWS
    assert counts["database_truncated"] == -(-len(whole) // PAGE_BYTES // 4)


def test_flipped_bytes_never_harm(whole: bytes, tmp_path: Path) -> None:
    chance = random.Random(5)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 30)):
            at = chance.randrange(100, len(data))
            data[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x0D, 0x05, chance.randrange(256)))
        with suppress(TraceFormatError):  # the schema must stay intact
            read, _ = numbers(bytes(data), tmp_path)
            assert len(read) <= 2 * ROWS


@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"", "empty_file"),
        (b"PK\3\4 something else", "not_a_database"),
        (bytes(random.Random(1).randbytes(4096)), "encrypted_database"),
        (b"SQLite format 3\0", "damaged_database"),
        (b"SQLite format 3\0\x12\x34" + bytes(100), "damaged_database"),
        (b"SQLite format 3\0\x02\x00\1\1\0@  " + bytes(2000), "damaged_database"),
    ],
    ids=["empty", "other", "encrypted", "cut_header", "page_size", "no_schema"],
)
def test_no_database(head: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(head)
    with pytest.raises(TraceFormatError, match=r"a\.sqlite") as caught:
        Database.open(str(path), "a.sqlite").tables["t"]
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are of Unix")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink(path, path)])
def test_what_is_no_file_is_no_journal(
    whole: bytes, tmp_path: Path, make: Callable[[str], None]
) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(whole)
    make(f"{path}-wal")  # reading a pipe would wait for a writer
    with Database.open(str(path), "a.sqlite") as database:
        assert database.tables


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_an_unfinished_database_is_an_error(whole: bytes, tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(whole)
    companion = tmp_path / f"a.sqlite{ending}"
    companion.write_bytes(bytes(64))
    Database.open(str(path), "a.sqlite").close()
    companion.write_bytes(b"\x37\x7f\x06\x82" + bytes(64))
    with pytest.raises(TraceFormatError, match=f"'{ending}'.*checkpoint") as caught:
        Database.open(str(path), "a.sqlite")
    assert caught.value.code == "unfinished_database"
