"""Sums of an export of Nsight Systems per thread, stream and name, in SQL: without the importer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from tests.helpers.sums import Sums
from tests.reference.nsys_sql import has

RANGES = (59, 60, 70, 71)
"""``eventType`` of ranges: pushed and popped, or started and ended."""

_DURATION = 'sum(max(coalesce("end", start) - start, 0))'
"""What has no end is 0 long, and so is what ends before it starts."""

NO_STREAM = 2**32 - 1
"""The stream of a synchronization with a whole context."""

_HOST_TABLES = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": r"(_v\d+|_ptsz|_ptds)+$",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": r"$",
    "OSRT_API": r"(_v\d+|_ptsz|_ptds)+$",
    "PROFILER_OVERHEAD": r"(?s)\s*\(.*",
}
"""Tables of what threads did, and what is no part of a name: version of an API, arguments."""

_EMIT_NVTX = re.compile(r"(?s), (stashed )?(seq|op_id|sizes|input_op_ids) ?= ?[\d\[-].*")
"""What ``emit_nvtx`` writes behind the name of an operator."""

_COPY_KINDS = {1: "HtoD", 2: "DtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}


_Row = tuple[tuple[Any, ...], int, int]


def host(file: sqlite3.Connection) -> Sums:
    """Calls, overhead and ranges by (process, thread, name), in ns."""
    return _summed([*_calls(file), *_ranges(file, "NOT LIKE")])


def markers(file: sqlite3.Connection) -> Sums:
    """Ranges whose text is a dictionary of PyProf, by (process, thread), in ns."""
    return _summed((key[:2], count, total) for key, count, total in _ranges(file, "LIKE"))


def work(file: sqlite3.Connection) -> Sums:
    """Device work by (device, stream, kind, name of a kernel or direction of a copy), in ns."""
    return _summed([*_activities(file), *_graphs(file)])


def _activities(file: sqlite3.Connection) -> Iterator[_Row]:
    names = {"KERNEL": "demangledName", "MEMCPY": "copyKind", "MEMSET": "0"}
    for kind, column in names.items():
        if has(file, f"CUPTI_ACTIVITY_KIND_{kind}"):
            for device, stream, name, text, count, total in file.execute(
                f"SELECT deviceId, streamId, {column}, StringIds.value, count(*), {_DURATION} "
                f"FROM CUPTI_ACTIVITY_KIND_{kind} LEFT JOIN StringIds ON id = {column} "
                "GROUP BY 1, 2, 3"
            ):
                shown = text if kind == "KERNEL" else _COPY_KINDS.get(name)
                yield (device, stream, kind, shown), count, total


def _graphs(file: sqlite3.Connection) -> Iterator[_Row]:
    """Launches of graphs that were recorded as a whole; 0 and 0 means that the time is unknown."""
    if has(file, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
        for device, stream, graph, count, total in file.execute(
            f"SELECT deviceId, streamId, graphId, count(*), {_DURATION} "
            'FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE WHERE start != 0 OR "end" != 0 GROUP BY 1, 2, 3'
        ):
            yield (device, stream, "KERNEL", f"CUDA graph {graph}"), count, total


def waits(file: sqlite3.Connection) -> Sums:
    """Synchronizations by (stream or None), in ns."""
    table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
    if not has(file, table):
        return {}
    return _summed(
        ((None if stream == NO_STREAM else stream,), count, total)
        for stream, count, total in file.execute(
            f"SELECT streamId, count(*), {_DURATION} FROM {table} GROUP BY 1"
        )
    )


def memory(file: sqlite3.Connection) -> Sums:
    """Allocations and releases by (type of device, device), in bytes."""
    if not has(file, "CUDA_GPU_MEMORY_USAGE_EVENTS"):
        return {}
    rows = file.execute(
        "SELECT memKind NOT IN (0, 1), iif(memKind IN (0, 1), -1, deviceId), count(*), "
        "sum(iif(memoryOperationType = 1, -bytes, bytes)) FROM CUDA_GPU_MEMORY_USAGE_EVENTS "
        "GROUP BY 1, 2"
    )
    return {key: (count, total) for *key_parts, count, total in rows for key in [tuple(key_parts)]}


def metrics(file: sqlite3.Connection) -> Sums:
    """Sampled metrics of GPUs by (number of the GPU, name without unit)."""
    if not has(file, "GPU_METRICS"):
        return {}
    rows = file.execute(
        "SELECT typeId & 255, metricName, count(*), sum(value) FROM GPU_METRICS "
        "JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) GROUP BY 1, 2"
    )
    return {(gpu, name.partition(" [")[0]): (count, total) for gpu, name, count, total in rows}


def _calls(file: sqlite3.Connection) -> Iterator[_Row]:
    for table, tail in _HOST_TABLES.items():
        if has(file, table):
            for thread, name, count, total in file.execute(
                f"SELECT globalTid, value, count(*), {_DURATION} FROM {table} "
                "JOIN StringIds ON id = nameId GROUP BY 1, 2"
            ):
                yield (*_thread(thread), re.sub(tail, "", name)), count, total


def _ranges(file: sqlite3.Connection, is_like: str) -> Iterator[_Row]:
    """Ranges without markers of PyProf, or those alone. What is open ends with the capture."""
    if not has(file, "NVTX_EVENTS"):
        return
    latest = 'SELECT max(max(start, coalesce("end", start))) FROM NVTX_EVENTS'
    last = file.execute(latest).fetchone()[0]
    if has(file, "ANALYSIS_DETAILS"):
        last = max(last, file.execute("SELECT max(duration) FROM ANALYSIS_DETAILS").fetchone()[0])
    inline = file.execute("SELECT count(*) FROM pragma_table_info('NVTX_EVENTS') "
                          "WHERE name = 'text'").fetchone()[0]  # fmt: skip
    text = "coalesce(text, value)" if inline else "value"
    for thread, name, count, total in file.execute(
        f'SELECT globalTid, {text} AS name, count(*), sum(max(coalesce("end", {last}) - start, 0)) '
        f"FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE eventType IN {RANGES} "
        f"AND name {is_like} '{{%' GROUP BY 1, 2"
    ):
        yield (*_thread(thread), _EMIT_NVTX.sub("", name)), count, total


def _thread(global_tid: int) -> tuple[str, str]:
    return str(global_tid >> 24 & 0xFFFFFF), str(global_tid & 0xFFFFFF)


def _summed(rows: Iterable[_Row]) -> Sums:
    """The sums of rows that are sums already: names become equal."""
    result: Sums = {}
    for key, count, total in rows:
        before = result.get(key, (0, 0))
        result[key] = before[0] + count, before[1] + total
    return result
