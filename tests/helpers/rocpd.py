"""Databases of rocprofv3 (rocpd, schema 3), of both generations, from made up processes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.helpers.rocprof import KINDS, Process, Row, agent_document, copy_operation

COLUMNS: dict[str, str] = {
    "metadata": "tag TEXT, value TEXT",
    "string": "string TEXT",
    "info_node": "hash BIGINT, machine_id TEXT, hostname TEXT",
    "info_process": "nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT, environment JSONB",
    "info_thread": "nid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER,"
    " logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT,"
    " extdata JSONB DEFAULT '{}' NOT NULL",
    "info_queue": "nid INTEGER, pid INTEGER, name TEXT",
    "info_stream": "nid INTEGER, pid INTEGER, name TEXT",
    "info_category": "name TEXT",
    "info_pmc": "agent_id INTEGER, name TEXT, symbol TEXT, units TEXT",
    "info_kernel_symbol": "kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER,"
    " accum_vgpr_count INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, correlation_id INTEGER,"
    " extdata JSONB DEFAULT '{}' NOT NULL",
    "pmc_event": "event_id INTEGER, pmc_id INTEGER, value REAL DEFAULT 0.0",
    "track": "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER,"
    " stream_id INTEGER, name_id INTEGER",
    "timestamp": "value BIGINT, phase INTEGER",
    "region": "name_id INTEGER, event_id INTEGER",
    "sample": "event_id INTEGER",
    "kernel_dispatch": "kernel_id INTEGER, dispatch_id INTEGER, private_segment_size INTEGER,"
    " group_segment_size INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,"
    " workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER,"
    " region_name_id INTEGER, event_id INTEGER",
    "memory_copy": "name_id INTEGER, dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER,"
    " event_id INTEGER",
    "memory_allocate": "type TEXT, level TEXT, address INTEGER, size INTEGER, event_id INTEGER",
}
"""Kind of table → its columns besides id and guid, without those of times and places."""

PLACES = "nid INTEGER, pid INTEGER, tid INTEGER"
WORK_PLACES = f"{PLACES}, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER"
OWN: dict[str, str] = {
    "region": f"{PLACES}, start BIGINT, end BIGINT",
    "sample": "track_id INTEGER, timestamp BIGINT",
    "kernel_dispatch": f"{WORK_PLACES}, start BIGINT, end BIGINT",
    "memory_copy": f"{PLACES}, queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT",
    "memory_allocate": f"{WORK_PLACES}, start BIGINT, end BIGINT",
}
"""The same of the first generation: rows have their times and places."""

REFERRED = {
    table: "track_id INTEGER, timestamp_id INTEGER, name_id INTEGER"
    if table == "sample"
    else "track_id INTEGER, start_id INTEGER, end_id INTEGER"
    for table in OWN
}
"""The same of the second: rows refer to them."""


class _Set:
    """The tables of one process, being filled."""

    def __init__(self, base: sqlite3.Connection, suffix: str, guid: str, is_new: bool) -> None:
        self._base, self._suffix, self._guid = base, suffix, guid
        self.is_new = is_new
        self._next: dict[str, int] = {}
        self._strings: dict[str, int] = {}
        self._tracks: dict[tuple[Any, ...], int] = {}

    def create(self) -> None:
        for kind, columns in COLUMNS.items():
            if kind in ("info_category", "timestamp") and not self.is_new:
                continue
            more = (REFERRED if self.is_new else OWN).get(kind)
            listed = ", ".join(filter(None, [columns, more]))
            self._base.execute(
                f"CREATE TABLE `rocpd_{kind}{self._suffix}` (id INTEGER NOT NULL PRIMARY KEY"
                f" AUTOINCREMENT, guid TEXT DEFAULT '{self._guid}' NOT NULL, {listed})"
            )

    def add(self, kind: str, *, id: int | None = None, **values: Any) -> int:
        number = self._next.get(kind, 0) + 1 if id is None else id
        self._next[kind] = number
        values = {name: value for name, value in values.items() if value is not None}
        names = ", ".join(["id", "guid", *values])
        marks = ", ".join("?" * (len(values) + 2))
        self._base.execute(
            f"INSERT INTO `rocpd_{kind}{self._suffix}` ({names}) VALUES ({marks})",
            [number, self._guid, *values.values()],
        )
        return number

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = self.add("string", string=text)
        return self._strings[text]

    def start_ids(self, first: int) -> None:
        """Ids of further rows are above ``first``."""
        self._next = dict.fromkeys(COLUMNS, first)

    def timed(self, kind: str, times: Row, places: Row, **values: Any) -> int:
        """A row with its times and places, or with references to them."""
        start, end = times["start"], times["end"]
        if not self.is_new:
            own = {name: value for name, value in places.items() if f"{name} " in OWN[kind]}
            return self.add(kind, start=start, end=end, nid=1, **own, **values)
        return self.add(
            kind,
            track_id=self.track(places),
            start_id=self.add("timestamp", value=start, phase=1),
            end_id=self.add("timestamp", value=end, phase=2),
            **values,
        )

    def instant(self, time: int, places: Row, event: int, name: int | None) -> None:
        """A sample: the first generation names only its track."""
        if self.is_new:
            self.add("sample", track_id=self.track(places), event_id=event, name_id=name,
                     timestamp_id=self.add("timestamp", value=time, phase=0))  # fmt: skip
            return
        track = self.track({**places, "name_id": name})
        self.add("sample", track_id=track, timestamp=time, event_id=event)

    def track(self, places: Row) -> int:
        key = tuple(sorted((name, value) for name, value in places.items() if value is not None))
        if key not in self._tracks:
            self._tracks[key] = self.add("track", nid=1, **places)
        return self._tracks[key]


def write_rocpd(
    path: Path, given: Iterable[Process], *, is_new: bool = False, one_set: bool = False
) -> Path:
    """A database of these processes.

    Args:
        path: Where.
        given: The processes.
        is_new: Whether rows refer to tables of times and tracks.
        one_set: Whether all processes share tables, told apart by their guid.
    """
    with closing(sqlite3.connect(path)) as base:
        base.execute("BEGIN")
        for number, process in enumerate(given):
            guid = f"0000019b-{number:04}-7000"
            suffix = "" if one_set else "_" + guid.replace("-", "_")
            tables = _Set(base, suffix, guid, is_new)
            if number == 0 or not one_set:
                tables.create()
            _fill(tables, process, 1000 * number if one_set else 0)
        base.commit()
    return path


def _fill(tables: _Set, process: Process, first: int) -> None:
    filler = _Filler(tables, process, first)
    filler.describe()
    filler.add_host()
    filler.add_work()
    filler.add_samples()


class _Filler:
    """Adds the rows of a process."""

    def __init__(self, tables: _Set, process: Process, first: int) -> None:
        self._tables, self._process, self._first = tables, process, first
        self._add = tables.add
        self._threads: dict[int, int] = {}
        self._agents: list[int] = []
        self._kernels: list[int] = []
        self._pmcs: list[int] = []
        tables.start_ids(first)

    def describe(self) -> None:
        """The process, its agents, streams, kernels and counters."""
        add, process = self._add, self._process
        add("metadata", tag="schema_version", value="3")
        self._pid = add("info_process", nid=1, ppid=1, pid=process.pid, command="a --token=secret",
                        environment=json.dumps(process.environment))  # fmt: skip
        add("info_node", hash=self._first, machine_id=f"m{self._first}", hostname="secret-host")
        for number, kind in enumerate(KINDS if self._tables.is_new else ()):
            add("info_category", id=self._first + number + 1, name=kind)
        for number, is_gpu in enumerate(process.agents):
            document = agent_document(process, number)
            self._agents.append(
                add("info_agent", nid=1, pid=self._pid, type="GPU" if is_gpu else "CPU",
                    absolute_index=number, type_index=document["logical_node_type_id"],
                    name=document["name"], product_name=document["product_name"],
                    extdata=json.dumps(document))
            )  # fmt: skip
        self._kernels = [
            add("info_kernel_symbol", kernel_name=f"{name}.kd", display_name=name,
                arch_vgpr_count=16, accum_vgpr_count=4)
            for name in process.kernels
        ]  # fmt: skip
        self._pmcs = [
            add("info_pmc", agent_id=self._agents[-1], name=name, symbol=name, units="")
            for name in process.counter_names
        ]
        for number in range(3):
            add("info_stream", id=self._first + number, nid=1, pid=self._pid,
                name=f"Stream {number}")  # fmt: skip

    def add_host(self) -> None:
        """Calls and ranges; those without a duration are samples."""
        for row in self._process.calls:
            message = self._process.messages.get(row["call"])
            document = None if message is None else json.dumps({"message": message})
            number = self._event(row, row["kind"], document)
            places = {"pid": self._pid, "tid": self._thread(row)}
            if row["start"] != row["end"]:
                name = self._tables.string(row["function"])
                self._tables.timed("region", row, places, name_id=name, event_id=number)
            else:
                name = self._tables.string(row["function" if self._tables.is_new else "kind"])
                self._tables.instant(row["start"], places, number, name)

    def add_work(self) -> None:
        """Dispatches with counters, copies, and allocations."""
        process, tables = self._process, self._tables
        events: dict[int, int] = {}
        for row in process.dispatches:
            number = events[row["dispatch"]] = self._event(row, "KERNEL_DISPATCH")
            places = {"pid": self._pid, "tid": self._thread(row), "queue_id": row["queue"],
                      "agent_id": self._agents[row["agent"]],
                      "stream_id": self._first + row["stream"]}  # fmt: skip
            sizes = {
                f"{name}_size_{axis}": value
                for name in ("workgroup", "grid")
                for axis, value in zip("xyz", row[name], strict=True)
            }
            tables.timed("kernel_dispatch", row, places, event_id=number,
                         kernel_id=self._kernels[row["kernel"]], dispatch_id=row["dispatch"],
                         private_segment_size=row["scratch"], group_segment_size=row["lds"],
                         region_name_id=tables.string(""), **sizes)  # fmt: skip
        for row in process.counters:
            self._add("pmc_event", event_id=events[row["dispatch"]], value=row["value"],
                      pmc_id=self._pmcs[row["counter"]])  # fmt: skip
        for row in process.copies:
            name = KINDS["MEMORY_COPY"][copy_operation(process, row)]
            places = {"pid": self._pid, "tid": self._thread(row),
                      "stream_id": self._first + row["stream"]}  # fmt: skip
            tables.timed("memory_copy", row, places, size=row["bytes"],
                         name_id=tables.string(name), dst_agent_id=self._agents[row["target"]],
                         src_agent_id=self._agents[row["source"]],
                         event_id=self._event(row, "MEMORY_COPY"))  # fmt: skip
        for row in process.allocations:
            agent = None if row["agent"] is None else self._agents[row["agent"]]
            places = {"pid": self._pid, "tid": self._thread(row), "agent_id": agent}
            times = {"start": row["time"], "end": row["time"] + 5}
            tables.timed("memory_allocate", times, places, level=row.get("level", "REAL"),
                         type="FREE" if row["operation"] == 3 else "ALLOC",
                         address=row["address"], size=row["bytes"],
                         event_id=self._event(row, "MEMORY_ALLOCATION"))  # fmt: skip

    def add_samples(self) -> None:
        """Sampled values of counters."""
        for row in self._process.samples:
            number = self._add("event", category_id=self._category("NONE"))
            self._tables.instant(row["time"], {"pid": self._pid}, number, None)
            self._add("pmc_event", event_id=number, pmc_id=self._pmcs[row["counter"]],
                      value=row["value"])  # fmt: skip

    def _event(self, row: Row, kind: str, document: str | None = None) -> int:
        return self._add("event", category_id=self._category(kind), extdata=document,
                         stack_id=row.get("call", 0),
                         correlation_id=row.get("external", 0))  # fmt: skip

    def _category(self, kind: str) -> int:
        if self._tables.is_new:
            return self._first + 1 + list(KINDS).index(kind)
        return self._tables.string(kind)

    def _thread(self, row: Row) -> int:
        tid = row["thread"]
        if tid not in self._threads:
            self._threads[tid] = self._add("info_thread", nid=1, pid=self._pid, tid=tid)
        return self._threads[tid]
