"""Recordings of AMD's profilers written to cost time or memory."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from registry import attack

JSON, DATABASE = "1_results.json", "1_results.db"
AGENT = {"id": {"handle": 1}, "type": 2, "name": "gfx942", "logical_node_type_id": 0}
KINDS = [{"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel"]}]


def dispatch(number: int, *, kernel: int = 1, stream: int = 0, agent: int = 1) -> dict[str, Any]:
    """The record of a dispatch of 5 ns."""
    size = {"x": 64, "y": 1, "z": 1}
    return {"thread_id": 1, "correlation_id": {"internal": number, "external": 0},
            "start_timestamp": 1000 + 10 * number, "end_timestamp": 1005 + 10 * number,
            "dispatch_info": {"agent_id": {"handle": agent}, "queue_id": {"handle": stream},
                              "kernel_id": kernel, "dispatch_id": number, "workgroup_size": size,
                              "grid_size": size}, "stream_id": {"handle": stream}}  # fmt: skip


def write(path: Path, dispatches: Iterable[str], **parts: str) -> None:
    """A JSON file of one process, whose values are texts."""
    values = {"agents": json.dumps([AGENT]), "kernel_symbols": "[]", **parts}
    values["strings"] = json.dumps({"buffer_records": KINDS})
    with path.open("w") as file:
        listed = ", ".join(f'"{key}": {value}' for key, value in values.items())
        file.write(f'{{"rocprofiler-sdk-tool": [{{{listed}, "buffer_records": {{')
        for number, text in enumerate(dispatches):
            file.write(", " if number else '"kernel_dispatch": [')
            file.write(text)
        file.write("]}}]}")


@attack("rocprof-deep", JSON)
def _(path: Path, _rng: random.Random) -> None:
    """Brackets inside one another, as a value and inside records."""
    deep = "[" * 200_000 + "]" * 200_000
    records = (json.dumps(dispatch(n)).replace('"kernel_id": 1', f'"kernel_id": {deep}', n % 9 == 0)
               for n in range(50))  # fmt: skip
    write(path, records, summary=deep * 20, metadata='{"pid": ' + deep + "}")


@attack("rocprof-damaged-records", JSON)
def _(path: Path, rng: random.Random) -> None:
    texts = (json.dumps(dispatch(number)) for number in range(100_000))
    write(path, (text[: rng.randrange(len(text))] for text in texts))


@attack("rocprof-wrong-types", JSON)
def _(path: Path, rng: random.Random) -> None:
    values = ('"x"', "[1, 2]", '{"a": 1}', "null", "1e300", "99999999999999999999999", "-1")
    texts = (json.dumps(dispatch(number)) for number in range(100_000))
    write(path, (text.replace("64", rng.choice(values)) for text in texts))


@attack("rocprof-kernels", JSON)
def _(path: Path, rng: random.Random) -> None:
    count = 150_000 + rng.randrange(99)
    symbols = [{"kernel_id": n, "formatted_kernel_name": f"void k{n}<{n}>(int)"}
               for n in range(count)]  # fmt: skip
    records = (json.dumps(dispatch(n, kernel=n)) for n in range(count))
    write(path, records, kernel_symbols=json.dumps(symbols))


@attack("rocprof-long-names-unused", JSON)
def _(path: Path, _rng: random.Random) -> None:
    symbols = [{"kernel_id": n, "formatted_kernel_name": f"{n}{'x' * 10_000_000}"}
               for n in range(1, 20)]  # fmt: skip
    write(path, [json.dumps(dispatch(1))], kernel_symbols=json.dumps(symbols))


@attack("rocprof-streams", JSON)
def _(path: Path, _rng: random.Random) -> None:
    write(path, (json.dumps(dispatch(n, stream=n)) for n in range(100_000)))


@attack("rocprof-agents", JSON)
def _(path: Path, _rng: random.Random) -> None:
    agents = [{**AGENT, "id": {"handle": n}, "logical_node_type_id": None} for n in range(50_000)]
    write(path, (json.dumps(dispatch(n, agent=n)) for n in range(50_000)),
          agents=json.dumps(agents))  # fmt: skip


@attack("rocprof-processes", JSON)
def _(path: Path, _rng: random.Random) -> None:
    """As many processes as fit, each with one kernel."""
    process = {"metadata": {"pid": 1}, "agents": [AGENT],
               "buffer_records": {"kernel_dispatch": [dispatch(1)]}}  # fmt: skip
    path.write_text(f'{{"rocprofiler-sdk-tool": [{", ".join([json.dumps(process)] * 50_000)}]}}')


@attack("rocprof-counters", JSON)
def _(path: Path, _rng: random.Random) -> None:
    """A kernel with counters of ever new names."""
    values = [{"counter_id": {"handle": n}, "value": 1.0} for n in range(400_000)]
    collected = {"thread_id": 1, "dispatch_data": dispatch(1), "records": values}
    counters = json.dumps({"counter_collection": [collected]})
    write(path, [json.dumps(dispatch(1))], callback_records=counters)


@attack("rocprof-no-quote", JSON)
def _(path: Path, _rng: random.Random) -> None:
    """A text that begins and never ends."""
    records = (json.dumps(dispatch(n)) for n in range(100_000))
    write(path, records, summary='"' + "x\\" * 5_000_000)


def database(path: Path) -> sqlite3.Connection:
    """A rocpd database without tables."""
    return sqlite3.connect(path, isolation_level=None)


DISPATCHES = (
    "guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER,"
    " stream_id INTEGER, start BIGINT, end BIGINT, event_id INTEGER"
)


@attack("rocpd-guids", DATABASE)
def _(path: Path, _rng: random.Random) -> None:
    """One set of tables in which every row is of another process."""
    base = database(path)
    base.execute("BEGIN")
    base.execute(f"CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, {DISPATCHES})")
    rows = ((f"{n}", 1, 1, 1, 1, 1, 1, 10 * n + 1, 10 * n + 5, n) for n in range(100_000))
    base.executemany(
        f"INSERT INTO rocpd_kernel_dispatch VALUES (NULL, {', '.join('?' * 10)})", rows
    )
    base.execute("COMMIT")


@attack("rocpd-sets", DATABASE)
def _(path: Path, _rng: random.Random) -> None:
    """A set of tables for each of many processes."""
    base = database(path)
    base.execute("BEGIN")
    for number in range(5000):
        table = f"rocpd_kernel_dispatch_{number}"
        base.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {DISPATCHES})")
        base.execute(f"INSERT INTO {table} VALUES (1, 'a', 1, 1, 1, 1, 1, 1, 10, 20, 1)")
    base.execute("COMMIT")


@attack("rocpd-documents", DATABASE)
def _(path: Path, _rng: random.Random) -> None:
    """Ranges whose documents are long, deep or of other types."""
    base = database(path)
    base.execute("BEGIN")
    base.execute("CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, guid TEXT, string TEXT)")
    base.execute("INSERT INTO rocpd_string VALUES (1, 'a', 'MARKER_CORE_API')")
    base.execute(
        "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, guid TEXT, category_id, extdata)"
    )
    base.execute(
        "CREATE TABLE rocpd_region (id INTEGER PRIMARY KEY, guid TEXT, pid, tid, start, end,"
        " name_id, event_id)"
    )
    deep = '{"message": ' + "[" * 100_000 + "]" * 100_000 + "}"
    for number in range(20_000):
        document = deep if number % 1000 == 0 else f'{{"message": "{number}{"x" * 20}"}}'
        base.execute("INSERT INTO rocpd_event VALUES (?, 'a', 1, ?)", (number, document))
        base.execute("INSERT INTO rocpd_region VALUES (?, 'a', 1, 1, ?, ?, 1, ?)",
                     (number, number * 10 + 1, number * 10 + 9, number))  # fmt: skip
    base.execute("COMMIT")
