"""Tables of any content: what is decoded from pages is what SQLite itself reads."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.importers.sqlite.cells import (
    convert_floats,
    convert_ints,
    decode_text,
    encode_texts,
)
from torch_tb_profiler.importers.sqlite.database import Database

pytestmark = pytest.mark.hypothesis

INTEGERS = st.one_of(
    st.integers(-3, 3),
    *(st.integers(-(2**bits), 2**bits - 1) for bits in (7, 15, 23, 31, 47, 63)),
)
TEXTS = st.one_of(
    st.text(max_size=6),
    st.text("ab", min_size=55, max_size=70),
    st.integers(0, 2**66).map(str),
    st.sampled_from(["-12", " 7 ", "1.5e3", "9223372036854775807", "9223372036854775808", "", "x"]),
    st.text("x", min_size=400, max_size=1500),
)
REALS = st.floats(allow_nan=False)
BLOBS = st.one_of(st.binary(max_size=4), st.binary(min_size=300, max_size=2000))
CELLS = st.one_of(st.none(), INTEGERS, REALS, TEXTS, BLOBS)
TYPES = ("INTEGER", "TEXT", "REAL", "NUMERIC", "", "DOUBLE PRECISION", "BLOB")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]], int, int, int]:
    """Types of columns, rows, how many of them are added after another column is, how many are
    deleted, and the size of a page."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=5))
    row = st.tuples(*(CELLS for _ in types))
    rows = draw(st.lists(row, max_size=12))
    rows *= draw(st.sampled_from((1, 1, 30)))
    late, deleted = (draw(st.integers(0, len(rows) // 2)) for _ in range(2))
    page_bytes = draw(st.sampled_from((512, 1024, 4096, 65536)))
    return types, rows, late, deleted, page_bytes


def written(path: Path, types: list[str], rows: list[tuple[Any, ...]], **options: int) -> list[str]:
    """Make the database; the names of its columns."""
    names = [f'c"{number}' for number in range(len(types))]
    columns = [f'"c""{number}" {kind}' for number, kind in enumerate(types)]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {options['page_bytes']}")
        connection.execute(f"CREATE TABLE t (key INTEGER PRIMARY KEY, {', '.join(columns)})")
        placeholders = ", ".join("?" * len(types))
        early = rows[: len(rows) - options["late"]]
        connection.executemany(f"INSERT INTO t VALUES (NULL, {placeholders})", early)
        connection.execute("ALTER TABLE t ADD COLUMN added REAL")
        late = rows[len(early) :]
        connection.executemany(f"INSERT INTO t VALUES (NULL, {placeholders}, 5)", late)
        connection.execute(f"DELETE FROM t WHERE key % 3 = 1 AND key <= {options['deleted']}")
        connection.commit()
    return ["key", *names, "added"]


def by_sqlite(path: Path, names: Sequence[str]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = decode_text
        wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        return connection.execute(f"SELECT {wanted} FROM t").fetchall()


@examples(60)
@given(tables())
def test_pages_decode_to_what_sqlite_reads(
    table: tuple[list[str], list[tuple[Any, ...]], int, int, int],
) -> None:
    types, rows, late, deleted, page_bytes = table
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a?b#.sqlite"
        names = written(path, types, rows, late=late, deleted=deleted, page_bytes=page_bytes)
        truth = by_sqlite(path, names)
        with Database.open(str(path), path.name) as database:
            assert database.tables["t"] == tuple(names)
            assert database.rows("t", names) == truth
            assert database.count("t") == len(truth)
            ints, floats = database.ints("t", names), database.floats("t", names)
            assert not database.quality.counts.get("database_damaged")
            for position, name in enumerate(names):
                cells = [row[position] for row in truth]
                assert ints[name].tolist() == convert_ints(cells)[0].tolist()
                np.testing.assert_array_equal(floats[name], convert_floats(cells)[0])
                codes, texts, _ = encode_texts(cells)
                shown = [*texts, None]
                assert database.texts("t", name) == [shown[code] for code in codes.tolist()]
                assert database.series("t", name).to_list() == database.texts("t", name)
