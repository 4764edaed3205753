"""A second reader of torch_npu's folders: ``json`` and ``csv`` for text files, ``sqlite3`` for
databases.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.helpers.sums import Sums, add_up
from tests.importers.kineto import json_sums

OUTPUT = "ASCEND_PROFILER_OUTPUT"
NPU = 20
"""The type of a device as memory events have it, ``PrivateUse1``."""

_MEASURES = {each: f"Total {each.title()}(MB)" for each in ("allocated", "reserved", "active")}

_CALLS = {5000: "Runtime@", 5500: "Hccl@", 10000: "Node@", 15000: "Model@", 20000: "AscendCL@"}
"""Type of a CANN call in databases → what text files write before its name."""


class TextFiles:
    """The text files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / OUTPUT
        document = json.loads((self._folder / "trace_view.json").read_bytes(), parse_float=Decimal)
        self.events = json_sums.events_of(document)
        self._processes = {
            each["pid"]: each["args"]["name"]
            for each in self.events
            if each["ph"] == "M" and each["name"] == "process_name"
        }

    def slices(self) -> Sums:
        """All slices by (process, thread, name), in ns: a thread of CANN is one of the program,
        whose process is in the upper bits."""
        is_cann = {pid for pid, name in self._processes.items() if name == "CANN"}
        return json_sums.slices(
            [each | {"pid": each["pid"] >> 10} if each["pid"] in is_cann else each
             for each in self.events]
        )  # fmt: skip

    def kernels(self) -> Sums:
        """Kernels by (device, stream, name), in ns; the streams of collectives are left out,
        because a trace has the number of their group in that place."""
        device = next(each["pid"] & 31 for each in self.events if self._is_work(each))
        return add_up(
            (
                (
                    device,
                    None if _is_collective(row["Name"]) else int(row["Stream ID"]),
                    row["Name"],
                ),
                int(Decimal(row["Duration(us)"]) * 1000),
            )
            for row in self._rows("kernel_details.csv")
        )

    def memory(self) -> Sums:
        """Allocations and releases by (type of device, device), in bytes."""
        rows = []
        for row in self._rows("operator_memory.csv"):
            key = (NPU, int(row["Device Type"].removeprefix("NPU:")))
            size = int(Decimal(row["Size(KB)"]) * 1024)
            rows.append((key, size))
            if row["Release Time(us)"]:
                rows.append((key, -size))
        return add_up(rows)

    def records(self) -> Sums:
        """Totals of memory by (component, measure), in bytes."""
        return add_up(
            ((f"{row['Component']} {measure}",), int(Decimal(row[column]) * 1024**2))
            for row in self._rows("memory_record.csv")
            for measure, column in _MEASURES.items()
            if row[column]
        )

    def _is_work(self, event: dict[str, Any]) -> bool:
        process = self._processes[event["pid"]]
        return bool(event["ph"] == "X" and process == "Ascend Hardware")

    def _rows(self, name: str) -> Iterator[dict[str, str]]:
        with (self._folder / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield {key: value.strip() for key, value in row.items()}


class Database:
    """The database of a folder."""

    def __init__(self, folder: Path) -> None:
        (path,) = (folder / OUTPUT).glob("ascend_pytorch_profiler*.db")
        self._path = path

    def host(self) -> Sums:
        """Operators, frames, queue entries and calls by (process, thread, name), in ns."""
        rows = self._query(
            "SELECT globalTid, value, NULL, endNs - startNs FROM PYTORCH_API "
            "JOIN STRING_IDS ON STRING_IDS.id = name UNION ALL "
            "SELECT globalTid, value, type, endNs - startNs FROM CANN_API "
            "JOIN STRING_IDS ON STRING_IDS.id = name"
        )
        return add_up(
            ((str(tid >> 32), str(tid & 0xFFFFFFFF), _CALLS.get(kind, "") + name), ns)
            for tid, name, kind, ns in rows
        )

    def kernels(self) -> Sums:
        """As :meth:`TextFiles.kernels`."""
        rows = self._query(
            "SELECT deviceId, streamId, value, endNs - startNs FROM TASK "
            "JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
            "JOIN STRING_IDS ON STRING_IDS.id = COMPUTE_TASK_INFO.name UNION ALL "
            "SELECT (SELECT min(deviceId) FROM TASK), NULL, value, endNs - startNs "
            "FROM COMMUNICATION_OP JOIN STRING_IDS ON STRING_IDS.id = opName"
        )
        return add_up(((device, stream, name), ns) for device, stream, name, ns in rows)

    def memory(self) -> Sums:
        """As :meth:`TextFiles.memory`."""
        rows = self._query(
            "SELECT deviceId, size FROM OP_MEMORY UNION ALL "
            "SELECT deviceId, -size FROM OP_MEMORY WHERE releaseTime IS NOT NULL"
        )
        return add_up(((NPU, device), size) for device, size in rows)

    def records(self) -> Sums:
        """As :meth:`TextFiles.records`."""
        return add_up(
            ((f"{name} {measure}",), total)
            for name, *totals in self._query(
                "SELECT value, totalAllocated, totalReserved, totalActive FROM MEMORY_RECORD "
                "JOIN STRING_IDS ON id = component"
            )
            for measure, total in zip(_MEASURES, totals, strict=True)
            if total is not None
        )

    def _query(self, text: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro&immutable=1", uri=True)) as file:
            return file.execute(text).fetchall()


def _is_collective(name: str) -> bool:
    return name.startswith("hcom_")
