"""What an export of Nsight Systems says, asked of it in SQL: written without the importer.

A range owns a launch where it was pushed and popped on the launch's thread (``globalTid``) and was
open when the launch began; of several the one that began last. Device work has the launch of its
process (``globalPid``, the thread's number without its low 24 bits) with its ``correlationId``.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

Stats = dict[str, tuple[int, int, int, int]]
"""Name → how many, the sum, the least and the longest of their durations in ns."""

Span = tuple[int, int, int]
"""``globalTid``, start and end of a range."""

_WORK = {
    "kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "copy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "set": "CUPTI_ACTIVITY_KIND_MEMSET",
}
_PUSH_POP, _BACK_TRACE = 59, 67
_API_TAIL = re.compile(r"(_v\d+|_ptsz|_ptds)+$")


@dataclass(frozen=True)
class Tie:
    """A piece of device work and what SQL ties it to.

    Attributes:
        start: Of the work.
        end: Of the work.
        launch: Its launch, if the file has it.
        ranges: The innermost range of each domain that was open on the launch's thread.
    """

    start: int
    end: int
    launch: Span | None
    ranges: dict[int, Span]


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The export, read only; bytes that are no text are shown as such."""
    file = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True, isolation_level=None)
    file.text_factory = lambda text: text.decode("utf-8", "replace")
    file.execute("ATTACH ':memory:' AS own")
    try:
        yield file
    finally:
        file.close()


def has(file: sqlite3.Connection, table: str) -> bool:
    """Whether the export has a table."""
    found = file.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None


def durations(file: sqlite3.Connection, what: str) -> tuple[int, int]:
    """How many kernels, copies or sets there are, and the sum of their durations."""
    if not has(file, _WORK[what]):
        return 0, 0
    query = f'SELECT count(*), coalesce(sum("end" - start), 0) FROM {_WORK[what]}'
    count, total = file.execute(query).fetchone()
    return count, total


def copied_bytes(file: sqlite3.Connection, what: str) -> int:
    """Sum of the bytes that were copied or set."""
    if not has(file, _WORK[what]):
        return 0
    (total,) = file.execute(f"SELECT coalesce(sum(bytes), 0) FROM {_WORK[what]}").fetchone()
    return int(total)


def kernels_by_name(file: sqlite3.Connection) -> Stats:
    """Kernels by their demangled names."""
    return _by_name(file, _WORK["kernel"], "demangledName")


def calls_by_name(file: sqlite3.Connection, *, again: bool = False) -> Stats:
    """Calls of the runtime and the driver, without the versions behind their names.

    Args:
        file: The export.
        again: Those rows that tell a call again for its back trace (``eventClass`` 67), which old
            exports have, in place of the calls: five launches of five kernels stand there as ten.
    """
    stats: Stats = {}
    told = f"eventClass {'=' if again else '!='} {_BACK_TRACE}"
    for name, new in _by_name(file, "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", told).items():
        short = _API_TAIL.sub("", name)
        count, total, least, most = stats.get(short, (0, 0, 1 << 62, 0))
        stats[short] = (count + new[0], total + new[1], min(least, new[2]), max(most, new[3]))
    return stats


def _by_name(file: sqlite3.Connection, table: str, column: str, where: str = "1") -> Stats:
    if not has(file, table):
        return {}
    rows = file.execute(
        f'SELECT value, count(*), sum("end" - start), min("end" - start), max("end" - start) '
        f"FROM {table} JOIN StringIds ON id = {column} WHERE {where} GROUP BY value"
    )
    return {name: (count, total, least, most) for name, count, total, least, most in rows}


def ties(file: sqlite3.Connection, what: str) -> list[Tie]:
    """What each piece of device work is tied to."""
    if not has(file, _WORK[what]):
        return []
    if not file.execute("SELECT 1 FROM own.sqlite_master").fetchone():
        _copy_ranges(file)
        _copy_launches(file)
    rows = file.execute(_LAUNCHED.format(_WORK[what])).fetchall()
    longest = 'SELECT domain, max("end" - start) FROM own.ranges GROUP BY domain'
    domains = dict(file.execute(longest).fetchall())
    return [_tie(file, domains, (start, end), launch) for start, end, *launch in rows]


_LAUNCHED = """
    SELECT w.start, w."end", l.tid, l.start, l."end" FROM {} AS w
    LEFT JOIN own.launches AS l ON l.pid = w.globalPid AND l.correlation = w.correlationId
    ORDER BY w.rowid
"""

_INNERMOST = """
    SELECT tid, start, "end" FROM own.ranges
    WHERE tid = :tid AND domain = :domain AND start <= :at AND "end" > :at
    AND start >= :at - :longest
    ORDER BY start DESC, "end" LIMIT 1
"""


_CREATED = """
    WITH RECURSIVE chain (kernel, node, depth) AS (
        SELECT rowid, graphNodeId, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL
        UNION ALL
        SELECT kernel, originalGraphNodeId, depth + 1
        FROM chain JOIN CUDA_GRAPH_NODE_EVENTS ON graphNodeId = node
        WHERE originalGraphNodeId IS NOT NULL AND depth < 100
    )
    SELECT kernel, made.globalTid, made.start FROM chain
    JOIN CUDA_GRAPH_NODE_EVENTS AS made ON made.graphNodeId = node
    WHERE made.originalGraphNodeId IS NULL ORDER BY kernel
"""


def creations(file: sqlite3.Connection) -> list[Span]:
    """Per kernel of a replayed graph, all of one process, the innermost range that was open when
    the node was made that its own goes back to."""
    rows = file.execute(_CREATED).fetchall()
    ranges = (
        file.execute(
            "SELECT globalTid, start, [end] FROM NVTX_EVENTS WHERE eventType = ? AND globalTid = ? "
            "AND start <= ? AND [end] > ? ORDER BY start DESC, [end] LIMIT 1",
            (_PUSH_POP, tid, at, at),
        ).fetchone()
        for _, tid, at in rows
    )
    return list(ranges)


def _copy_launches(file: sqlite3.Connection) -> None:
    file.execute("CREATE TABLE own.launches (pid INTEGER, correlation INTEGER, tid, start, [end])")
    if has(file, "CUPTI_ACTIVITY_KIND_RUNTIME"):
        file.execute(
            "INSERT INTO own.launches SELECT globalTid & ~0xFFFFFF, correlationId, globalTid, "
            'start, "end" FROM CUPTI_ACTIVITY_KIND_RUNTIME '
            f"WHERE eventClass != {_BACK_TRACE}"
        )
    file.execute("CREATE INDEX own.by_id ON launches (pid, correlation)")


def _copy_ranges(file: sqlite3.Connection) -> None:
    file.execute("CREATE TABLE own.ranges (tid, domain, start, [end])")
    if has(file, "NVTX_EVENTS"):
        file.execute(
            'INSERT INTO own.ranges SELECT globalTid, domainId, start, "end" FROM NVTX_EVENTS '
            'WHERE eventType = ? AND "end" IS NOT NULL '
            "AND (endGlobalTid IS NULL OR endGlobalTid = globalTid)",
            (_PUSH_POP,),
        )
    file.execute("CREATE INDEX own.by_start ON ranges (tid, domain, start)")


def _tie(
    file: sqlite3.Connection,
    domains: dict[int, int],
    work: tuple[int, int],
    launch: list[int | None],
) -> Tie:
    tid, begun, done = launch
    if tid is None or begun is None or done is None:
        return Tie(*work, None, {})
    found: dict[int, Span] = {}
    for domain, longest in domains.items():
        wanted = {"tid": tid, "domain": domain, "at": begun, "longest": longest}
        row = file.execute(_INNERMOST, wanted).fetchone()
        if row is not None:
            found[domain] = row
    return Tie(*work, (tid, begun, done), found)
