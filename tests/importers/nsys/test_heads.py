"""Which databases of a folder are exports, by what they begin with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from torch_tb_profiler.importers.registry import detect_format

REMOTE_BYTES = 32 << 10
LOCAL_BYTES = 64 << 10


def database(path: Path, tables: list[str]) -> bytes:
    with closing(sqlite3.connect(path / "x.db")) as connection:
        connection.execute("BEGIN")  # one commit, not one for each table
        for table in tables:
            columns = ", ".join(f"column_{number} INTEGER" for number in range(40))
            connection.execute(f"CREATE TABLE {table} ({columns})")
        connection.commit()
    return (path / "x.db").read_bytes()


def test_every_sample_is_detected_by_its_head(corpus: Path) -> None:
    files = [*(corpus / "nsight").glob("*/*.sqlite")]
    assert len(files) > 8
    for file in files:
        data = file.read_bytes()
        for size in (REMOTE_BYTES, LOCAL_BYTES, 1 << 20):
            detection = detect_format(data[:size], file.name, size >= len(data))
            assert detection.is_trace is (file.name != "not_sqlite.sqlite"), (file.name, size)
            assert detection.format == ("nsys" if detection.is_trace else "")


@pytest.mark.parametrize("tables", [1, 40])
def test_a_database_of_something_else_is_left_out(tmp_path: Path, tables: int) -> None:
    data = database(tmp_path, [f"moz_places_{number}" for number in range(tables)])
    detection = detect_format(data[:LOCAL_BYTES], "x.db", len(data) <= LOCAL_BYTES)
    assert not detection.is_trace
    assert detection.reason == "not_nsight"
    assert detection.text == "is an SQLite database, but not an export of Nsight Systems."
    assert detection.needs_more is (len(data) > LOCAL_BYTES)


def test_names_of_tables_beyond_the_head_decide_nothing_yet(tmp_path: Path) -> None:
    data = database(tmp_path, [f"moz_places_{number}" for number in range(40)])
    assert b"CREATE TABLE" not in data[:4096]
    detection = detect_format(data[:4096], "x.db", False)
    assert (detection.is_trace, detection.needs_more) == (True, True)


def test_a_database_that_is_cut_short_says_so(tmp_path: Path) -> None:
    data = database(tmp_path, [f"moz_places_{number}" for number in range(40)])
    detection = detect_format(data[:5000], "x.db", True)
    assert (detection.is_trace, detection.reason) == (False, "damaged_database")
    assert detection.text == "is a truncated SQLite database."


def test_any_ending_of_databases(tmp_path: Path) -> None:
    data = database(tmp_path, ["StringIds", "NVTX_EVENTS"])
    for name in ("x.db", "x.sqlite", "x.sqlite3"):
        assert detect_format(data, name, True).format == "nsys"
