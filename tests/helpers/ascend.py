"""A synthetic run of torch_npu, written as its text files and as its database.

One step: an operator on the main thread puts two kernels of one batch on the task queue, another
one copies without the queue, and an all-reduce runs over two ranks.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from torch_tb_profiler.importers.ascend.folder import read
from torch_tb_profiler.importers.protocol import Reading, ReadOptions
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.trace.columns import EventColumns

BASE_NS = 1_700_000_000_000_000_000
PID, MAIN, QUEUE = 700, 700, 701
OUTPUT = "ASCEND_PROFILER_OUTPUT"
HARDWARE, HCCL, CANN = (PID << 10 | index << 5 for index in (13, 15, 7))
ADDRESS = "10.1.2.3%eth0_60000_0_1"
"""The name of a group as HCCL creates it, with a host address that must not be shown."""


@dataclass
class Run:
    """What was recorded; times are ns after the start of the run.

    Attributes:
        host: (kind, name, thread, start, end, id): ``op`` (id: connections of its work), ``put``
            and ``take`` (id: entry of the queue), ``frame``.
        calls: (level, name, thread, start, end, connection).
        kernels: (name, type, core, stream, task, start, end, connection, blocks).
        copies: (stream, task, start, end, connection).
        collectives: (name, start, end, connection, elements).
        blocks: (name, KiB, allocated, released or None, total KiB, reserved KiB).
    """

    host: list[tuple[str, str, int, int, int, Any]] = field(
        default_factory=lambda: [
            ("op", "ProfilerStep#3", MAIN, 0, 9_000_000, ()),
            ("op", "aten::mm", MAIN, 100_000, 500_000, (11,)),
            ("put", "Enqueue", MAIN, 200_000, 210_000, 90),
            ("take", "Dequeue@aclnnMm", QUEUE, 300_000, 700_000, 90),
            ("op", "aten::copy_", MAIN, 1_000_000, 1_900_000, (12,)),
            ("op", "HcclAllreduce", MAIN, 2_000_000, 2_500_000, (13,)),
            ("put", "Enqueue", MAIN, 2_100_000, 2_110_000, 91),
            ("take", "Dequeue@HcclAllreduce", QUEUE, 2_200_000, 2_900_000, 91),
            ("frame", "train.py(3): step", MAIN, 50_000, 8_000_000, None),
        ]
    )
    calls: list[tuple[str, str, int, int, int, int]] = field(
        default_factory=lambda: [
            ("node", "launch", QUEUE, 400_000, 450_000, 11),
            ("acl", "aclrtMemcpy", MAIN, 1_100_000, 1_800_000, 12),
            ("node", "launch", QUEUE, 2_300_000, 2_400_000, 13),
        ]
    )
    kernels: list[tuple[str, str, str, int, int, int, int, int, int]] = field(
        default_factory=lambda: [
            ("mm_MemSet", "MemSet", "AI_VECTOR_CORE", 2, 1, 600_000, 620_000, 11, 8),
            ("mm_MatMul", "MatMulV2", "AI_CORE", 2, 2, 640_000, 1_000_000, 11, 24),
        ]
    )
    copies: list[tuple[int, int, int, int, int]] = field(
        default_factory=lambda: [(2, 3, 1_200_000, 1_500_000, 12)]
    )
    collectives: list[tuple[str, int, int, int, int]] = field(
        default_factory=lambda: [("hcom_allReduce__586_0_1", 3_000_000, 6_000_000, 13, 1 << 20)]
    )
    blocks: list[tuple[str, float, int, int | None, float, float]] = field(
        default_factory=lambda: [
            ("aten::mm", 4096, 150_000, 480_000, 8192, 16384),
            ("aten::copy_", 512.5, 1_050_000, None, 8704.5, 16384),
        ]
    )


def us(ns: int) -> str:
    """An absolute time as text files write it."""
    return f"{(BASE_NS + ns) // 1000}.{(BASE_NS + ns) % 1000:03d}"


def _dur(start: int, end: int) -> float:
    return (end - start) / 1000


LEVEL = {"node": "Node@", "acl": "AscendCL@"}


def timeline(run: Run) -> list[dict[str, Any]]:
    """The events of ``trace_view.json``."""
    events: list[dict[str, Any]] = []
    for pid, name, label in (
        (PID, "Python", "CPU"), (CANN, "CANN", "CPU"), (HARDWARE, "Ascend Hardware", "NPU"),
        (HCCL, "HCCL", "NPU"),
    ):  # fmt: skip
        events.append({"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
                       "args": {"name": name}})  # fmt: skip
        events.append({"ph": "M", "name": "process_labels", "pid": pid, "tid": 0,
                       "args": {"labels": label}})  # fmt: skip
    for pid, tid, name in (
        (PID, MAIN, f"Thread {MAIN}"), (PID, QUEUE, f"Thread {QUEUE}"),
        (CANN, MAIN, f"Thread {MAIN}"), (CANN, QUEUE, f"Thread {QUEUE}"),
        (HARDWARE, 2, "Stream 2"), (HCCL, 0, "Group 0 Communication"),
    ):  # fmt: skip
        events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid,
                       "args": {"name": name}})  # fmt: skip

    def put(pid: int, tid: int, name: str, start: int, end: int, **more: Any) -> None:
        events.append({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us(start),
                       "dur": _dur(start, end), **more})  # fmt: skip

    cats = {"op": "cpu_op", "put": "enqueue", "take": "dequeue", "frame": "python_function"}
    for number, (kind, name, thread, start, end, of) in enumerate(run.host):
        args: dict[str, Any] = {}
        if kind == "op":
            args = {"Sequence number": -1, "Fwd thread id": 0}
            if name.startswith("aten::"):
                args |= {"Input Dims": "4,8;\r\n", "Input type": "float;\r\nScalar"}
                args |= {"Call stack": 'a.py(1): "f";\r\nb.py(2): g'}
        elif kind in ("put", "take"):
            args = {"correlation_id": of}
        else:
            args = {"Python id": number, "Python parent id": None}
        put(PID, thread, name, start, end, cat=cats[kind], args=args)
    for level, name, thread, start, end, connection in run.calls:
        args = {"level": level, "connection_id": connection}
        put(CANN, thread, LEVEL[level] + name, start, end, args=args)
    for name, _, core, stream, task, start, end, connection, _ in run.kernels:
        put(HARDWARE, stream, name, start, end,
            args={"Task Type": core, "Task Id": task, "connection_id": connection})  # fmt: skip
    for stream, task, start, end, connection in run.copies:
        args = {"Task Type": "SDMA_SQE", "Task Id": task, "connection_id": connection}
        put(HARDWARE, stream, "MEMCPY_ASYNC", start, end, args=args)
    for name, start, end, connection, count in run.collectives:
        put(HCCL, 0, name, start, end,
            args={"connection_id": connection, "data_type": "FP32", "count": count})  # fmt: skip
    return [*events, *_arrows(run)]


def _arrows(run: Run) -> list[dict[str, Any]]:
    """From each operator to the tasks of its connections."""
    work = [(HARDWARE, each[3], each[5], each[7]) for each in run.kernels]
    work += [(HARDWARE, stream, start, of) for stream, _, start, _, of in run.copies]
    work += [(HCCL, 0, start, of) for _, start, _, of, _ in run.collectives]
    arrows = []
    for kind, _, thread, start, _, of in run.host:
        for pid, tid, begin, connection in work:
            if kind == "op" and connection in of:
                ends = (("s", PID, thread, start), ("f", pid, tid, begin))
                arrows += [
                    {"ph": phase, "name": "torch_to_npu", "cat": "async_npu", "bp": "e",
                     "id": BASE_NS + begin, "pid": of_pid, "tid": of_tid, "ts": us(at)}
                    for phase, of_pid, of_tid, at in ends
                ]  # fmt: skip
    return arrows


def _csv(path: Path, header: str, rows: list[list[Any]]) -> None:
    lines = [header, *(",".join("" if c is None else str(c) for c in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_text(folder: Path, run: Run, **config: Any) -> Path:
    """Write the text files of the run, in a folder with torch_npu's name."""
    output = folder / OUTPUT
    output.mkdir(parents=True)
    events = json.dumps(timeline(run))
    (output / "trace_view.json").write_text(events, encoding="utf-8")
    _csv(
        output / "kernel_details.csv",
        "Step Id,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),"
        "Block Num,aic_mac_ratio",
        [
            [3, task, stream, name, kind, core, us(start) + "\t", _dur(start, end), blocks, 0.25]
            for name, kind, core, stream, task, start, end, _, blocks in run.kernels
        ],
    )
    memory = (
        "Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total Allocated(MB),"
        "Allocation Total Reserved(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
        "Device Type"
    )
    _csv(
        output / "operator_memory.csv",
        memory,
        [
            [name, size, us(start) + "\t", None if end is None else us(end) + "\t", total / 1024,
             reserved / 1024, (total - size) / 1024, reserved / 1024, "NPU:0"]
            for name, size, start, end, total, reserved in run.blocks
        ],
    )  # fmt: skip
    write_info(folder, **config)
    return folder


def write_info(folder: Path, *, rank: int | None = 0, level: str = "Level1", **common: Any) -> None:
    """``profiler_info`` of a rank, with secrets that belong nowhere."""
    document = {
        "config": {
            "common_config": {"record_shapes": True, "with_stack": True, **common},
            "experimental_config": {"_profiler_level": level},
        },
        "ENV_VARIABLES": {"TOKEN": "planted-secret"},
        "rank_id": rank,
        "torch_npu_version": "2.5.1",
    }
    name = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(document), encoding="utf-8")
    groups = {ADDRESS: {"group_name": "default_group", "group_rank": 0, "global_ranks": [0, 1]}}
    metadata = {"parallel_group_info": groups, "ENV_VARIABLES": {"TOKEN": "planted-secret"}}
    (folder / "profiler_metadata.json").write_text(json.dumps(metadata), encoding="utf-8")


class _Texts:
    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.ids.setdefault(text, 1000 + 7 * len(self.ids))


TABLES = {
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, "
    "name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, "
    "inputShapes INTEGER, callchainId INTEGER, type INTEGER",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, "
    "connectionId INTEGER, name INTEGER",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, "
    "globalTaskId INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER",
    "COMPUTE_TASK_INFO": "name INTEGER, globalTaskId INTEGER, blockDim INTEGER, taskType INTEGER, "
    "opType INTEGER",
    "COMMUNICATION_OP": "opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, "
    "groupName INTEGER, dataType INTEGER, count NUMERIC",
    "ENUM_HCCL_DATA_TYPE": "id INTEGER, name TEXT",
    "TASK_PMU_INFO": "globalTaskId INTEGER, name INTEGER, value NUMERIC",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, "
    "allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
    "releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, deviceId INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "STRING_IDS": "id INTEGER, value TEXT",
}


def write_database(folder: Path, run: Run, **config: Any) -> Path:
    """The same run as a database."""
    output = folder / OUTPUT
    output.mkdir(parents=True)
    tables = _database_rows(run, _Texts())
    with sqlite3.connect(output / "ascend_pytorch_profiler_0.db") as database:
        for name, columns in TABLES.items():
            database.execute(f"CREATE TABLE {name} ({columns})")
            for row in tables[name]:
                database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    database.close()
    write_info(folder, **config)
    return folder


def _database_rows(run: Run, text: _Texts) -> dict[str, list[tuple[Any, ...]]]:
    tables: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    kinds = {"op": 50001, "put": 50002, "take": 50002, "frame": 50003}
    for number, (kind, name, thread, start, end, of) in enumerate(run.host):
        ids = of if isinstance(of, tuple) else () if of is None else (of,)
        has_inputs = name.startswith("aten::")
        tables["CONNECTION_IDS"] += [(number, one) for one in ids]
        tables["PYTORCH_API"].append(
            (str(BASE_NS + start), str(BASE_NS + end), PID << 32 | thread,
             number if ids else None, text(name), -1 if kind == "op" else None,
             0 if kind == "op" else None, text("float;\r\nScalar") if has_inputs else None,
             text("4,8;\r\n") if has_inputs else None, 5 if has_inputs else None, kinds[kind])
        )  # fmt: skip
    tables["PYTORCH_CALLCHAINS"] = [(5, text("b.py(2): g"), 1), (5, text('a.py(1): "f"'), 0)]
    levels = {"node": 10000, "acl": 20000}
    for level, name, thread, start, end, connection in run.calls:
        tables["CANN_API"].append((BASE_NS + start, BASE_NS + end, levels[level],
                                   PID << 32 | thread, connection, text(name)))  # fmt: skip
    for name, kind, core, stream, task, start, end, connection, blocks in run.kernels:
        tables["TASK"].append((BASE_NS + start, BASE_NS + end, 0, connection, task,
                               text("KERNEL_" + core), 0xFFFFFFFF, stream, task))  # fmt: skip
        tables["COMPUTE_TASK_INFO"].append((text(name), task, blocks, text(core), text(kind)))
        tables["TASK_PMU_INFO"].append((task, text("aic_mac_ratio"), 0.25))
    for stream, task, start, end, connection in run.copies:
        tables["TASK"].append((BASE_NS + start, BASE_NS + end, 0, connection, task,
                               text("MEMCPY_ASYNC"), 0xFFFFFFFF, stream, task))  # fmt: skip
    for name, start, end, connection, count in run.collectives:
        tables["COMMUNICATION_OP"].append((text(name), BASE_NS + start, BASE_NS + end, connection,
                                           text(ADDRESS), 4, count))  # fmt: skip
    tables["ENUM_HCCL_DATA_TYPE"] = [(4, "FP32")]
    for name, size, start, freed, total, reserved in run.blocks:
        released = None if freed is None else BASE_NS + freed
        tables["OP_MEMORY"].append(
            (text(name), int(size * 1024), BASE_NS + start, released, int(total * 1024),
             int(reserved * 1024), int((total - size) * 1024), int(reserved * 1024), 0)
        )  # fmt: skip
    tables["HOST_INFO"] = [("planted-secret", "planted-host")]
    tables["META_DATA"] = [("ENV_VARIABLES", '{"TOKEN": "planted-secret"}')]
    tables["STRING_IDS"] = [(number, value) for value, number in text.ids.items()]
    return tables


def folder_source(folder: Path) -> Folder:
    """What an importer reads of a folder of this machine."""

    def file(path: Path) -> Source:
        return Source(str(path), iter([path.read_bytes()]), path=str(path))

    files = {
        path.relative_to(folder).as_posix(): partial(file, path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return Folder(str(folder), files, path=str(folder))


def read_folder(folder: Path, *, python_frames: bool = True) -> EventColumns:
    """The columns of a folder, as the importer reads them."""
    options = ReadOptions(python_frames=python_frames)
    return read(folder_source(folder), Reading(options))
