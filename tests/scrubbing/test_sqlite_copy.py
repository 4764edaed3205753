"""Figures are compared by the copy itself, which is refused where one differs. Cases: exports with
secrets in cells, columns, settings, referred texts, blobs, deleted rows and SQL; real databases of
three profilers; hostile schemas and trees; files that are cut."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.nsys import training, write_export
from tests.helpers.rocpd import write_rocpd
from tests.helpers.rocprof import training as rocprof_training
from tests.scrubbing import planted, planted_databases
from torch_tb_profiler import scrub
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.scrubbing import copying, sqlite_copy

REAL = ("nsight/real/pipit_saxpy_mpi_s2.9.1.sqlite", "rocm/matmul_result.rpd")


def _rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as base:
        base.text_factory = lambda data: data.decode("utf-8", "replace")
        return base.execute(statement).fetchall()


def _tables(path: Path) -> dict[str, int]:
    names = [name for (name,) in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: _rows(path, f'SELECT count(*) FROM "{name}"')[0][0]
        for name in names
        if not name.startswith("sqlite_")
    }


@pytest.fixture(scope="module", name="sides")
def planted_export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("annlee")
    plain = write_export(folder / "plain.sqlite", training())
    source = folder / "in" / "gpu-node-17_4711.sqlite"
    planted_databases.plant_in_database(plain, source)
    planted_databases.plant_in_export(source)
    result = scrub(folder / "in", folder / "copy")
    assert result.omitted == ()
    return source, folder / "copy" / result.files[0].target


def test_no_secret_is_in_the_bytes_of_the_copy(sides: tuple[Path, Path]) -> None:
    source, copy = sides
    assert planted.private_texts() - planted.leaks(source.parent) == set()
    assert planted.leaks(copy.parent) == set()
    data = copy.read_bytes()
    assert [text for text in planted_databases.HIDDEN if text.encode() in data] == []
    assert all(text.encode() in source.read_bytes() for text in planted_databases.HIDDEN)


def test_numbers_are_equal(sides: tuple[Path, Path]) -> None:
    source, copy = sides
    numbers = "SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL"
    assert _rows(source, numbers) == _rows(copy, numbers)
    assert sum(_tables(source).values()) == sum(_tables(copy).values())


def test_settings_keep_what_is_allowed(sides: tuple[Path, Path]) -> None:
    values = dict(_rows(sides[1], "SELECT name, value FROM META_DATA_HERE"))
    assert values["DeviceEnvironment"] == "OMP_NUM_THREADS=8"
    assert values["PROCESS_0:COMMAND_LINE"] is None
    assert values["DEVICE_DISPLAY_NAME"].startswith("host-")


def test_texts_have_the_key_of_what_refers_to_them(sides: tuple[Path, Path]) -> None:
    copy = sides[1]
    streams = "SELECT value FROM ProcessStreams JOIN StringIds ON contentId = id"
    assert _rows(copy, streams) == [(None,)]
    threads = "SELECT value FROM ThreadNames JOIN StringIds ON nameId = id WHERE globalTid = 3"
    assert _rows(copy, threads)[0][0].startswith("process-")


def test_nothing_of_the_schema_is_in_the_copy(sides: tuple[Path, Path]) -> None:
    kinds = _rows(sides[1], "SELECT DISTINCT type FROM sqlite_master")
    assert kinds == [("table",)]
    assert _rows(sides[1], "PRAGMA integrity_check") == [("ok",)]
    assert _rows(sides[1], "PRAGMA freelist_count") == [(0,)]


@pytest.mark.parametrize("name", REAL)
def test_real_databases(name: str, corpus: Path, tmp_path: Path) -> None:
    source = tmp_path / "in" / Path(name).name
    planted_databases.plant_in_database(corpus / name, source)
    result = scrub(source.parent, tmp_path / "copy", hash_names=True)
    assert result.omitted == ()
    assert planted.leaks(tmp_path / "copy") == set()


def test_databases_of_rocprofv3(tmp_path: Path) -> None:
    source = write_rocpd(tmp_path / "plain.db", [rocprof_training()], is_new=True)
    planted_databases.plant_in_database(source, tmp_path / "in" / "results.db")
    result = scrub(tmp_path / "in", tmp_path / "copy")
    assert result.omitted == ()
    assert planted.leaks(tmp_path / "copy") == set()


HOSTILE = (
    'CREATE TABLE "select" ("from" TEXT, """; DROP TABLE x; --" TEXT, "where" INTEGER)',
    'CREATE TABLE "a""b" ("x" "INTEGER); DROP TABLE y; --", "X y" REAL, "order" TEXT DEFAULT 7)',
    "CREATE TABLE computed (a TEXT, b AS (a || '/home/annlee') STORED, c AS (abs(1)) VIRTUAL)",
    "CREATE TABLE keyed (a TEXT PRIMARY KEY, b INT) WITHOUT ROWID",
    "CREATE TABLE pair (a INTEGER, b INTEGER, PRIMARY KEY (a, b))",
    "CREATE TABLE checked (a INTEGER PRIMARY KEY DESC CHECK (a > 0), b TEXT COLLATE NOCASE UNIQUE)",
    "CREATE VIEW everything AS SELECT * FROM keyed",
    "CREATE TRIGGER on_insert AFTER INSERT ON keyed BEGIN DELETE FROM pair; END",
    "CREATE VIRTUAL TABLE searched USING fts5(text)",
    "INSERT INTO \"select\" VALUES ('1.50', X'00ff', 3), (1.5, 'x', 'y')",
    "INSERT INTO keyed VALUES ('b', 2), ('a', 1)",
    "INSERT INTO pair VALUES (1, 2), (1, 3)",
    "INSERT INTO checked VALUES (5, 'x'), (3, 'y')",
    'INSERT INTO "a""b" VALUES (1, 2, \'x\')',
)


def test_hostile_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    source = write_export(tmp_path / "in.sqlite", training())
    with closing(sqlite3.connect(source)) as base, base:
        for statement in HOSTILE:
            base.execute(statement)
    scrub(source, tmp_path / "copy.sqlite")
    copy = tmp_path / "copy.sqlite"
    assert _rows(copy, "SELECT * FROM keyed") == [("a", 1), ("b", 2)]
    assert _rows(copy, "SELECT * FROM pair") == [(1, 2), (1, 3)]
    assert _rows(copy, "SELECT * FROM checked ORDER BY a") == [(3, "y"), (5, "x")]
    assert _rows(copy, 'SELECT * FROM "select"') == [("1.50", None, 3), ("1.5", "x", "y")]
    assert _rows(copy, 'SELECT "x", "X y", typeof("X y") FROM "a""b"') == [(1, 2.0, "real")]
    assert _rows(copy, "SELECT name FROM sqlite_master WHERE type != 'table'") == []


def _outcome(source: Path, target: Path) -> str:
    """Why nothing was copied, or the notes of the copy."""
    try:
        return " ".join(scrub(source, target).files[0].notes)
    except OpenError as error:
        return error.problem.message


def test_a_file_that_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "first_difference", lambda *_: None)
    data = write_export(tmp_path / "in.sqlite", training()).read_bytes()
    source = tmp_path / "cut.sqlite"
    outcomes = {}
    for size in (0, 50, 5000, len(data) // 2, len(data) - 4096):
        source.write_bytes(data[:size])
        outcomes[size] = _outcome(source, tmp_path / f"copy{size}.sqlite")
    assert all(outcomes.values())
    assert "empty" in outcomes[0]
    assert "header" in outcomes[50]
    assert {path.name for path in tmp_path.iterdir()} >= {"in.sqlite", "cut.sqlite"}


def test_trees_of_pages_that_repeat_fill_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_copy, "LEAST_PAGES", 64)
    source = tmp_path / "in.sqlite"
    with closing(sqlite3.connect(source)) as base, base:
        base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        rows = ((number, "x" * 400) for number in range(6_000))
        base.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
    data = bytearray(source.read_bytes())
    for start in range(4096, len(data), 4096):
        if data[start] == 5:  # an interior page: all its children become the first one
            cells = int.from_bytes(data[start + 3 : start + 5], "big")
            offsets = [
                start + int.from_bytes(data[at : at + 2], "big")
                for at in range(start + 12, start + 12 + 2 * cells, 2)
            ]
            for offset in offsets:
                data[offset : offset + 4] = data[offsets[0] : offsets[0] + 4]
    source.write_bytes(data)
    with pytest.raises(OpenError):
        scrub(source, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()


def test_a_copy_with_other_figures_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_export(tmp_path / "in.sqlite", training())
    monkeypatch.setattr(copying, "first_difference", lambda *_: "view kernels")
    with pytest.raises(OpenError, match="other figures: view kernels"):
        scrub(source, tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()
