"""Databases of rocmProfileData from made up processes, and the Chrome JSON that its own converter
makes of them. The tables are those of a real ``.rpd`` (schema 2)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.helpers.rocprof import Process, Row

TABLES = {
    "rocpd_string": "string",
    "rocpd_api": "pid, tid, start, end, apiName_id, args_id",
    "rocpd_op": "gpuId, queueId, sequenceId, completionSignal, start, end, description_id,"
    " opType_id",
    "rocpd_api_ops": "api_id, op_id",
    "rocpd_monitor": "deviceType, deviceId, monitorType, start, end, value",
    "rocpd_metadata": "tag, value",
}
DETAILS = {
    "rocpd_kernelapi": "api_ptr_id INTEGER NOT NULL PRIMARY KEY, stream, gridX, gridY, gridZ,"
    " workgroupX, workgroupY, workgroupZ, groupSegmentSize, privateSegmentSize, kernelName_id",
    "rocpd_copyapi": "api_ptr_id INTEGER NOT NULL PRIMARY KEY, stream, size, kind",
}
TYPES = {(False, True): "CopyHostToDevice", (True, False): "CopyDeviceToHost",
         (True, True): "CopyDeviceToDevice", (False, False): "CopyHostToHost"}  # fmt: skip
FIRST_GPU = 2
"""The GPUs are numbered behind two processors."""


class _Base:
    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        self._strings: dict[str, int] = {}
        for name, columns in TABLES.items():
            base.execute(f'CREATE TABLE "{name}" (id integer PRIMARY KEY AUTOINCREMENT, {columns})')
        for name, columns in DETAILS.items():
            base.execute(f'CREATE TABLE "{name}" ({columns})')

    def add(self, table: str, **values: Any) -> int:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        query = f"INSERT INTO {table} ({names}) VALUES ({marks})"
        return int(self._base.execute(query, list(values.values())).lastrowid or 0)

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = self.add("rocpd_string", string=text)
        return self._strings[text]


def write_rpd(path: Path, given: Iterable[Process]) -> Path:
    """A database of these processes."""
    with closing(sqlite3.connect(path)) as connection:
        base = _Base(connection)
        base.add("rocpd_metadata", tag="schema_version", value="2")
        for process in given:
            _fill(base, process)
        for number, value in enumerate((800, 1700, 900)):
            base.add("rocpd_monitor", deviceType="gpu", deviceId=0, monitorType="sclk",
                     start=1_000_000 + 9000 * number, end=1_009_000 + 9000 * number,
                     value=str(value))  # fmt: skip
        connection.commit()
    return path


def _fill(base: _Base, process: Process) -> None:
    ids: dict[int, int] = {}
    for row in process.calls:
        message = process.messages.get(row["call"])
        is_range = row["function"].startswith("roctx")
        name = "UserMarker" if is_range else row["function"]
        arguments = (message or row["function"]) if is_range else ""
        call = base.add(
            "rocpd_api", pid=process.pid, tid=row["thread"], start=row["start"], end=row["end"],
            apiName_id=base.string(name), args_id=base.string(arguments),
        )  # fmt: skip
        if not is_range:
            ids[row["call"]] = call
    for row in process.dispatches:
        operation = _operation(
            base, process, row, "KernelExecution", process.kernels[row["kernel"]]
        )
        if row["call"] in ids:
            call = ids[row["call"]]
            base.add("rocpd_api_ops", api_id=call, op_id=operation)
            base.add("rocpd_kernelapi", api_ptr_id=call, stream="0x0", groupSegmentSize=row["lds"],
                     privateSegmentSize=row["scratch"], kernelName_id=base.string("unused"),
                     **{f"grid{axis}": each for axis, each in zip("XYZ", row["grid"], strict=True)},
                     **{f"workgroup{axis}": each
                        for axis, each in zip("XYZ", row["workgroup"], strict=True)})  # fmt: skip
    for row in process.copies:
        kind = TYPES[process.agents[row["source"]], process.agents[row["target"]]]
        is_read = process.agents[row["source"]] and not process.agents[row["target"]]
        operation = _operation(
            base,
            process,
            {**row, "queue": 0, "agent": row["source" if is_read else "target"]},
            kind,
        )
        base.add("rocpd_api_ops", api_id=ids[row["call"]], op_id=operation)
        base.add("rocpd_copyapi", api_ptr_id=ids[row["call"]], stream="0x0", size=row["bytes"],
                 kind=1)  # fmt: skip


def _operation(base: _Base, process: Process, row: Row, kind: str, name: str = "") -> int:
    gpu = FIRST_GPU + max(sum(process.agents[: row["agent"]]), 0)
    return base.add(
        "rocpd_op", gpuId=gpu, queueId=row["queue"], sequenceId=0, completionSignal="",
        start=row["start"], end=row["end"], description_id=base.string(name),
        opType_id=base.string(kind),
    )  # fmt: skip


def to_chrome(path: Path) -> list[Any]:
    """The events that rocmProfileData's converter writes of a database: whole microseconds as
    texts, arrows from calls to operations, and the monitored clock as counters."""
    events: list[Any] = [{}]
    with closing(sqlite3.connect(path)) as base:
        text = dict(base.execute("SELECT id, string FROM rocpd_string"))
        for (gpu,) in base.execute("SELECT DISTINCT gpuId FROM rocpd_op"):
            events.append({"name": "process_name", "ph": "M", "pid": str(gpu),
                           "args": {"name": f"GPU{gpu}"}})  # fmt: skip
        for pid, tid in base.execute("SELECT DISTINCT pid, tid FROM rocpd_api"):
            events.append({"name": "thread_name", "ph": "M", "pid": str(pid), "tid": str(tid),
                           "args": {"name": f"Hip {tid}"}})  # fmt: skip

        def slice_of(place: tuple[int, int], times: tuple[int, int], name: str, desc: str) -> Row:
            return {"pid": str(place[0]), "tid": str(place[1]), "name": name, "ph": "X",
                    "ts": str(times[0] // 1000), "dur": str((times[1] - times[0]) // 1000),
                    "args": {"desc": desc}}  # fmt: skip

        query = "SELECT opType_id, description_id, gpuId, queueId, start, end FROM rocpd_op"
        for kind, name, gpu, queue, start, end in base.execute(query):
            shown = text[name] or text[kind]
            events.append(slice_of((gpu, queue), (start, end), shown, text[kind]))
        query = "SELECT apiName_id, args_id, pid, tid, start, end FROM rocpd_api"
        for name, arguments, pid, tid, start, end in base.execute(query):
            if text[name] == "UserMarker" and start == end:
                events.append({"pid": str(pid), "tid": str(tid), "name": text[arguments], "s": "p",
                               "ts": str(start // 1000), "ph": "i"})  # fmt: skip
                continue
            shown = text[arguments] if text[name] == "UserMarker" else text[name]
            events.append(slice_of((pid, tid), (start, end), shown, text[arguments]))
        query = (
            "SELECT L.id, pid, tid, gpuId, queueId, A.end, O.start FROM rocpd_api_ops L"
            " JOIN rocpd_api A ON A.id = L.api_id JOIN rocpd_op O ON O.id = L.op_id"
        )
        for number, pid, tid, gpu, queue, end, start in base.execute(query):
            at = min(end // 1000 - 2, start // 1000)
            arrow = {"cat": "api_op", "name": "api_op", "id": str(number)}
            events.append({**arrow, "pid": str(pid), "tid": str(tid), "ts": str(at), "ph": "s"})
            events.append({**arrow, "pid": str(gpu), "tid": str(queue), "ph": "f", "bp": "e",
                           "ts": str(start // 1000)})  # fmt: skip
        query = "SELECT deviceId, monitorType, start, end, value FROM rocpd_monitor ORDER BY id"
        last = None
        for device, kind, start, end, value in base.execute(query):
            counter = {"pid": str(device), "name": "", "ph": "C"}
            events.append({**counter, "ts": start // 1000, "args": {kind: int(value)}})
            last = {**counter, "ts": end // 1000, "args": {kind: int(value)}}
        events += [] if last is None else [last]
    return events


def write_chrome(path: Path, events: list[Any]) -> Path:
    """A file of these events, as the converter writes it: one a line."""
    lines = "\n,".join(json.dumps(event) for event in events[1:])
    path.write_text(f"[ {{}}\n,{lines}\n]\n")
    return path
