"""Writes exports of Nsight Systems for tests: tables of rows, with the columns the rows have."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from torch_tb_profiler.importers.nsys.reader import read_export
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace

HOST = 1
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
COPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
SET = "CUPTI_ACTIVITY_KIND_MEMSET"
CALL = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"


def global_pid(pid: int, host: int = HOST) -> int:
    """``globalPid`` of a process."""
    return host << 48 | pid << 24


def global_tid(pid: int, tid: int, host: int = HOST) -> int:
    """``globalTid`` of a thread."""
    return global_pid(pid, host) | tid


def strings(*texts: str) -> list[dict[str, Any]]:
    """Rows of ``StringIds``; ids count from 1."""
    return [{"id": number, "value": text} for number, text in enumerate(texts, 1)]


def kernel(start: int, end: int, **columns: Any) -> dict[str, Any]:
    """A row of a kernel on stream 7 of GPU 0 of process 10, called by string 1."""
    return {
        "start": start, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7,
        "correlationId": 1, "globalPid": global_pid(10), "demangledName": 1, **columns,
    }  # fmt: skip


def call(start: int, end: int, name: int, **columns: Any) -> dict[str, Any]:
    """A row of a call on thread 10 of process 10."""
    return {
        "start": start, "end": end, "eventClass": 0, "globalTid": global_tid(10, 10),
        "correlationId": 1, "nameId": name, **columns,
    }  # fmt: skip


def write_export(path: Path, tables: Mapping[str, Sequence[Any]]) -> Path:
    """An export at ``path``; a table without rows is given as its columns."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for table, rows in tables.items():
            columns = [row for row in rows if isinstance(row, str)]
            columns += dict.fromkeys(key for row in rows if not isinstance(row, str) for key in row)
            columns = columns or ["id", "value"]
            names = ", ".join(f'"{column}"' for column in columns)
            database.execute(f'CREATE TABLE "{table}" ({names})')
            placeholders = ", ".join("?" * len(columns))
            values = [
                tuple(row.get(column) for column in columns)
                for row in rows
                if not isinstance(row, str)
            ]
            database.executemany(f'INSERT INTO "{table}" VALUES ({placeholders})', values)
        database.commit()
    return path


def columns_of(path: Path, tables: Mapping[str, Sequence[Any]]) -> EventColumns:
    """The event columns of such an export."""
    return read_export(str(write_export(path / "x.sqlite", tables)), "x.sqlite", Reading())


def trace_of(path: Path, tables: Mapping[str, Sequence[Any]]) -> Trace:
    """The trace of such an export."""
    return build_trace(columns_of(path, tables))


def names_of(columns: EventColumns, raw_category: str) -> list[str]:
    """Names of the slices of a category, in order of the rows."""
    slices = columns.tables["slices"]
    rows = np.flatnonzero(slices["raw_category_code"] == columns.strings.index(raw_category))
    return [columns.strings[code] for code in slices["name_code"][rows].tolist()]
