"""Recordings of the other formats made to cost time or memory."""

from __future__ import annotations

import gzip
import random
import sqlite3
import sys
from pathlib import Path

from kineto_inputs import zeros
from registry import attack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.importers.protobuf.encode import field, message

PFTRACE = "recording.pftrace"
NSYS = "recording.sqlite"
JOURNAL = "host_1.1700000000000.record.jsonl"


@attack("journal-gzip-lines", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\n")


@attack("journal-gzip-objects", JOURNAL + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 2 << 30, b"{}\n")


@attack("journal-objects", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"kind":"step"}\n' * (3_000_000 + rng.randrange(99)))


@attack("pftrace-gzip-bomb", PFTRACE + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30)


@attack("pftrace-gzip-bomb-inside", PFTRACE)
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\x0a\x00")


@attack("pftrace-empty-packets", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    path.write_bytes(b"\x0a\x00" * (20_000_000 + rng.randrange(99)))


@attack("pftrace-nested", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    value = b""
    for _ in range(3000 + rng.randrange(99)):
        value = message((9, message((12, value))))
    path.write_bytes(b"".join(field(1, message((11, value))) for _ in range(100)))


@attack("pftrace-tracks", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    parts = []
    for number in range(1, 100_000 + rng.randrange(99)):
        thread = message((1, 77), (2, number), (5, f"thread {number}"))
        parts.append(field(1, message((60, message((1, number), (4, thread))), (10, 1))))
        for kind in (1, 2):
            body = message((9, kind), (11, number), (23, f"op{number}"))
            parts.append(field(1, message((8, number * 10 + kind), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-deep", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    depth = 100_000 + rng.randrange(99)
    parts = []
    for number in range(2 * depth):
        body = message((9, 1 if number < depth else 2), (11, 5), (23, "op"))
        parts.append(field(1, message((8, number + 1), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


@attack("pftrace-parents", PFTRACE)
def _(path: Path, rng: random.Random) -> None:
    """Tracks inside one another, and one that is its own ancestor."""
    count = 50_000 + rng.randrange(99)
    parts = [
        field(1, message((60, message((1, n), (5, n - 1 or count), (2, f"t{n}"))), (10, 1)))
        for n in range(1, count)
    ]
    for kind in (1, 2):
        body = message((9, kind), (11, count - 1), (23, "op"))
        parts.append(field(1, message((8, kind), (11, body), (10, 1))))
    path.write_bytes(b"".join(parts))


def database(path: Path, statements: str) -> sqlite3.Connection:
    """An Nsight Systems database with the tables that every recording has."""
    base = sqlite3.connect(path)
    base.executescript(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
        " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
        " shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"
        " blockY INTEGER, blockZ INTEGER);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,"
        " correlationId INTEGER, nameId INTEGER);" + statements
    )
    return base


KERNEL_ROW = "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,1,1,1,32,1,1)"


@attack("nsys-long-names", NSYS)
def _(path: Path, rng: random.Random) -> None:
    base = database(path, "")
    for number in range(10):
        text = rng.choice("ab<(:") * 40_000_000
        base.execute("INSERT INTO StringIds VALUES (?, ?)", (number, f"{number}{text}"))
        base.execute(KERNEL_ROW, (number * 10, number * 10 + 5, 0, 7, number, 1, number, number))
    base.commit()


@attack("nsys-long-names-unused", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    base = database(path, "")
    for number in range(10):
        base.execute("INSERT INTO StringIds VALUES (?, ?)", (number, "x" * 40_000_000))
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-streams", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    base = database(path, "INSERT INTO StringIds VALUES (1, 'kernel');")
    rows = ((n * 10, n * 10 + 5, n % 70_000, n, n, n % 9000, 1, 1) for n in range(100_000))
    base.executemany(KERNEL_ROW, rows)
    base.commit()


@attack("nsys-names", NSYS)
def _(path: Path, rng: random.Random) -> None:
    base = database(path, "")
    count = 300_000 + rng.randrange(99)
    base.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", ((n, f"void k{n}<{n}>(int)") for n in range(count))
    )
    base.executemany(KERNEL_ROW, ((n * 10, n * 10 + 5, 0, 7, n, 1, n, n) for n in range(count)))
    base.commit()


@attack("nsys-view", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    """A view in place of a table, that never ends."""
    base = database(path, "INSERT INTO StringIds VALUES (1, 'kernel');")
    base.executescript(
        "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME; CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS start, i + 1 AS end, 1 AS globalTid, i AS correlationId, 1 AS nameId FROM n;"
    )
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-generated", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    """A computed column of a few bytes on disk and megabytes when it is read."""
    base = sqlite3.connect(path)
    base.executescript(
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS (hex(zeroblob(30000000))));"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
        " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,"
        " shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,"
        " blockY INTEGER, blockZ INTEGER);"
    )
    for number in range(200):
        base.execute("INSERT INTO StringIds (id) VALUES (?)", (number,))
        base.execute(KERNEL_ROW, (number * 10, number * 10 + 5, 0, 7, number, 1, number, number))
    base.commit()


@attack("nsys-gzip-bomb", NSYS + ".gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b"\0", b"SQLite format 3\0")


@attack("nsys-journal", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """A closed database with a rollback journal, a log and an index beside it."""
    base = database(path, "INSERT INTO StringIds VALUES (1, 'kernel');")
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()
    base.close()
    header = bytes.fromhex("d9d505f920a163d7") + (1000).to_bytes(4, "big") + bytes(16)
    Path(f"{path}-journal").write_bytes(header.ljust(512, b"\0") + rng.randbytes(1 << 20))
    Path(f"{path}-wal").write_bytes(bytes.fromhex("377f0682") + rng.randbytes(1 << 20))
    Path(f"{path}-shm").write_bytes(rng.randbytes(1 << 15))


@attack("paddle-json-deep", "paddle_trace.json")
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"traceEvents":' + "[" * (2_000_000 + rng.randrange(99)))


@attack("text-gzip-bomb", "trace.json.gz")
def _(path: Path, _rng: random.Random) -> None:
    zeros(path, 5 << 30, b" ", b'{"traceEvents":[')


@attack("nested-gzip", "trace.json.gz")
def _(path: Path, rng: random.Random) -> None:
    data = b"[" * (1 << 24)
    for _ in range(10 + rng.randrange(3)):
        data = gzip.compress(data)
    path.write_bytes(data)
