"""Databases of Nsight Systems written to cost time or memory."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

from gzip_inputs import zeros
from registry import attack

NSYS = "recording.sqlite"
RANGES = (
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER,"
    " category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER,"
    " textId INTEGER, domainId INTEGER);"
)
RANGE_ROW = "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, NULL, NULL, NULL, ?, ?, NULL, NULL, 0)"
PUSH_POP = 59


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


@attack("nsys-ranges-open", NSYS)
def _(path: Path, rng: random.Random) -> None:
    base = database(path, RANGES)
    count = 300_000 + rng.randrange(99)
    base.executemany(RANGE_ROW, ((n, None, PUSH_POP, f"r{n % 99}", 1 << 24) for n in range(count)))
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-ranges-deep", NSYS)
def _(path: Path, rng: random.Random) -> None:
    base = database(path, RANGES)
    count = 100_000 + rng.randrange(99)
    rows = ((n, 3 * count - n, PUSH_POP, f"range{n}", 1 << 24) for n in range(count))
    base.executemany(RANGE_ROW, rows)
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-range-texts-long", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """Texts of 40 MB in a column that others follow."""
    base = database(path, RANGES)
    for number in range(5):
        text = f"{number}" + rng.choice("ab<(") * 40_000_000
        base.execute(RANGE_ROW, (number * 10, number * 10 + 5, PUSH_POP, text, 1 << 24))
    base.commit()


@attack("nsys-strings-unused", NSYS)
def _(path: Path, rng: random.Random) -> None:
    base = database(path, "")
    count = 1_000_000 + rng.randrange(99)
    base.executemany(
        "INSERT INTO StringIds VALUES (?, ?)", ((n, f"{n}" + "x" * 80) for n in range(count))
    )
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-strings-long-unused", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    base = database(path, "")
    rows = ((n, f"{n}" + "x" * 250_000) for n in range(1000))
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-processes", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    base = database(path, "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel');" + RANGES)
    call = "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 1)"
    count = 100_000
    base.executemany(call, ((n * 9, n * 9 + 2, n << 24 | n, n) for n in range(count)))
    base.executemany(RANGE_ROW, ((n, n + 9, PUSH_POP, "r", n << 24 | n) for n in range(count)))
    rows = ((n * 9 + 3, n * 9 + 5, n, n % 99, n, n << 24, 1, 1) for n in range(count))
    base.executemany(KERNEL_ROW, rows)
    base.commit()


@attack("nsys-odd-types", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """Bytes, texts, NaN and numbers at the edge in every column."""
    base = database(path, RANGES)
    odd = [None, b"\0" * 9, "x", "1e9", "", 2**63 - 1, -(2**63), 1e308, -1.5, float("inf"), 0, 7]
    tables = {
        "StringIds": 2,
        "CUPTI_ACTIVITY_KIND_KERNEL": 14,
        "CUPTI_ACTIVITY_KIND_RUNTIME": 5,
        "NVTX_EVENTS": 11,
    }
    for table, columns in tables.items():
        statement = f"INSERT OR IGNORE INTO {table} VALUES ({','.join('?' * columns)})"
        for number in range(20_000):
            row = [rng.choice(odd) for _ in range(columns)]
            row[0] = rng.choice([number, row[0]])
            if table == "StringIds":
                row[0] = number
            base.execute(statement, row)
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-tables-many", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    columns = ",".join(f"c{n} INTEGER" for n in range(100))
    tables = "".join(f"CREATE TABLE t{n} ({columns});" for n in range(10_000))
    base = database(path, f"BEGIN; {tables} COMMIT;")
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-columns-many", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """A column that is read after 1,990 others, in rows of a few bytes."""
    columns = ",".join(f"c{n}" for n in range(1990))
    base = database(path, "CREATE TABLE NVTX_EVENTS (c0);")
    rows = ((n,) for n in range(1_000_000 + rng.randrange(99)))
    base.executemany("INSERT INTO NVTX_EVENTS (c0) VALUES (?)", rows)
    base.execute("PRAGMA writable_schema = ON")
    wide = f"CREATE TABLE NVTX_EVENTS ({columns}, start, end, text, globalTid)"
    base.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'NVTX_EVENTS'", (wide,))
    base.commit()
    base.close()
    base = sqlite3.connect(path)
    base.execute("INSERT INTO NVTX_EVENTS (start, end, text) VALUES (1, 2, 'x')")
    base.commit()


@attack("nsys-without-rowid", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    """Only SQLite reads these tables."""
    base = database(path, "DROP TABLE StringIds;")
    base.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT) WITHOUT ROWID")
    for number in range(10):
        text = f"{number}\0" + "x" * 40_000_000
        base.execute("INSERT INTO StringIds VALUES (?, ?)", (number, text))
        base.execute(KERNEL_ROW, (number * 10, number * 10 + 5, 0, 7, number, 1, number, number))
    base.commit()


@attack("nsys-views-doubled", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    """Views that double one another, under the name of a table."""
    base = database(path, "")
    base.execute("CREATE VIEW v0 AS SELECT 1 AS a, 2 AS b")
    for number in range(1, 40):
        inner = f"v{number - 1}"
        base.execute(f"CREATE VIEW v{number} AS SELECT x.a, y.b FROM {inner} x, {inner} y")
    base.execute("CREATE VIEW NVTX_EVENTS AS SELECT a AS start, b AS end FROM v39")
    base.execute("PRAGMA writable_schema = ON")
    base.execute("UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = 'NVTX_EVENTS'")
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()


@attack("nsys-pages-small", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """Small pages, many of which are damaged or point to others."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA page_size = 512")
    base.close()
    base = database(path, "")
    rows = ((n, f"k{n}" * 200) for n in range(20_000))
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", rows)
    kernels = ((n * 10, n * 10 + 5, 0, 7, n, 1, n, n) for n in range(100_000))
    base.executemany(KERNEL_ROW, kernels)
    base.commit()
    base.close()
    data = bytearray(path.read_bytes())
    pages = len(data) // 512
    for _ in range(pages // 20):
        at = rng.randrange(2, pages) * 512
        data[at : at + 4] = rng.randrange(pages).to_bytes(4, "big")
    path.write_bytes(data)


@attack("nsys-chain-shared", NSYS)
def _(path: Path, _rng: random.Random) -> None:
    """Every row continues on the first page of one long chain."""
    base = database(path, "")
    base.execute("INSERT INTO StringIds VALUES (1, ?)", ("x" * 20_000_000,))
    row = "y" * 5000
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", ((n, row) for n in range(2, 3000)))
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()
    base.close()
    data = bytearray(path.read_bytes())
    chain = data.find(b"x" * 4000) // 4096 + 1
    for page in range(1, len(data) // 4096):
        at = page * 4096
        if data[at] == 0x0D and b"y" * 100 in data[at : at + 4096]:
            end = data.rfind(b"y", at, at + 4096) + 1
            data[end : end + 4] = chain.to_bytes(4, "big")
    path.write_bytes(data)


@attack("nsys-series", NSYS)
def _(path: Path, rng: random.Random) -> None:
    """A metric of its own for every sample."""
    base = database(
        path,
        "CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value);"
        "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, typeName TEXT, sourceId INTEGER,"
        " metricId INTEGER, metricName TEXT);",
    )
    count = 200_000 + rng.randrange(99)
    base.executemany(
        "INSERT INTO GPU_METRICS VALUES (?,?,?,?)", ((n, n, n, n) for n in range(count))
    )
    names = ((n, "t", 1, n, f"metric {n} [%]") for n in range(count))
    base.executemany("INSERT INTO TARGET_INFO_GPU_METRICS VALUES (?,?,?,?,?)", names)
    base.execute(KERNEL_ROW, (1, 5, 0, 7, 1, 1, 1, 1))
    base.commit()
