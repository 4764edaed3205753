"""Synthetic exports of Nsight Systems, of cases without a public recording. Tables and columns are
those of real exports."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

TEXT_IDS = ("nameId", "textId", "demangledName", "shortName", "mangledName")
"""Columns that refer to texts: rows may have a text in place of its id."""

PID, TID, HOST = 1000, 1001, 1 << 48
GLOBAL_PID = HOST | PID << 24
MAIN, BACKWARD = GLOBAL_PID | TID, GLOBAL_PID | TID + 1

RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
NVTX = "NVTX_EVENTS"
PUSH_POP, START_END, MARK, THREAD_NAME, DOMAIN = 59, 60, 34, 39, 75


def write_export(path: Path, tables: Mapping[str, Iterable[Row]]) -> Path:
    """An export with these tables; each has the columns that its rows have together."""
    texts: dict[str, int] = {}
    with sqlite3.connect(path) as file:
        for name, given in tables.items():
            rows = [dict(row) for row in given]
            columns = list(dict.fromkeys(column for row in rows for column in row))
            for row in rows:
                for column in TEXT_IDS:
                    if isinstance(row.get(column), str):
                        row[column] = texts.setdefault(row[column], len(texts) + 1)
            listed = ", ".join(f'"{column}"' for column in columns or ["id"])
            file.execute(f'CREATE TABLE "{name}" ({listed})')
            marks = ", ".join("?" * len(columns))
            values = [tuple(row.get(column) for column in columns) for row in rows]
            if rows:
                file.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
        file.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        file.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", [(id_, text) for text, id_ in texts.items()]
        )
    file.close()
    return path


def pushed(text: str, start: int, end: int | None, thread: int = MAIN, **more: Any) -> Row:
    """A range that a thread pushed and popped."""
    return {"start": start, "end": end, "eventType": PUSH_POP, "textId": text, "globalTid": thread,
            "endGlobalTid": None, "domainId": 0, **more}  # fmt: skip


def started(text: str, start: int, end: int | None, thread: int = MAIN, **more: Any) -> Row:
    """A range that was started and ended."""
    return {**pushed(text, start, end, thread), "eventType": START_END, **more}


def called(name: str, start: int, end: int, correlation: int, thread: int = MAIN) -> Row:
    """A call into the runtime."""
    return {"start": start, "end": end, "eventClass": 0, "globalTid": thread,
            "correlationId": correlation, "nameId": name}  # fmt: skip


def ran(name: str, start: int, end: int, correlation: int, **more: Any) -> Row:
    """A kernel."""
    return {"start": start, "end": end, "deviceId": 0, "contextId": 1, "streamId": 7,
            "correlationId": correlation, "globalPid": GLOBAL_PID, "demangledName": name,
            "shortName": name, "gridX": 2, "gridY": 1, "gridZ": 1, "blockX": 128, "blockY": 1,
            "blockZ": 1, "registersPerThread": 32, "staticSharedMemory": 0,
            "dynamicSharedMemory": 0, **more}  # fmt: skip


def graph_nodes() -> dict[str, list[Row]]:
    """A captured graph that is replayed twice, with its nodes traced: a kernel of ``aten::mm``, one
    of ``aten::relu`` and one created outside every operator, in the range ``capture``."""
    made = ((11, 120), (12, 160), (13, 190))
    nodes = [_node(number, 0, at) for number, at in made]
    nodes += [_node(number + 10, number, 300) for number, _ in made]  # instantiated
    nodes += [_node(number + 20, number + 10, 320) for number, _ in made]  # and cloned
    kernels = [
        ran(name, start + 30 * place, start + 30 * place + 20, correlation, graphNodeId=node)
        for correlation, start in ((1, 1000), (2, 2000))
        for place, (name, node) in enumerate((("gemm", 31), ("relu", 32), ("tail", 33)))
    ]
    return {
        NVTX: [
            pushed("capture", 100, 200), pushed("aten::mm, op_id = 1", 110, 130),
            pushed("aten::relu, op_id = 2", 150, 170), pushed("replay", 900, 3000),
            pushed("aten::outer, op_id = 3", 1990, 1999),
        ],
        RUNTIME: [called("cudaGraphLaunch_v10000", 950, 960, 1),
                  called("cudaGraphLaunch_v10000", 1992, 1998, 2)],
        KERNEL: kernels,
        "CUDA_GRAPH_NODE_EVENTS": nodes,
    }  # fmt: skip


def _node(number: int, original: int, at: int) -> Row:
    return {"start": at, "end": at + 1, "eventClass": 77, "globalTid": MAIN,
            "nameId": "cudaGraphAddNode", "graphNodeId": number,
            "originalGraphNodeId": original or None}  # fmt: skip


def whole_graphs() -> dict[str, list[Row]]:
    """A graph whose kernels were not traced: a row per launch, one of them without a time."""
    graph = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": GLOBAL_PID, "graphId": 4,
             "graphExecId": 5}  # fmt: skip
    return {
        NVTX: [pushed("step 1", 10, 200)],
        RUNTIME: [called("cudaGraphLaunch_v10000", 20, 30, 1),
                  called("cudaGraphLaunch_v10000", 120, 130, 2)],
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [
            {**graph, "start": 40, "end": 90, "correlationId": 1},
            {**graph, "start": 0, "end": 0, "correlationId": 2},
        ],
    }  # fmt: skip


def training() -> dict[str, list[Row]]:
    """Two steps of a PyTorch program under ``emit_nvtx``, with a backward pass on a thread of its
    own, a domain, markers of PyProf, start/end ranges and marks."""
    events: list[Row] = [
        {"start": 1, "eventType": DOMAIN, "domainId": 1, "globalTid": MAIN, "text": "NCCL"},
        {"start": 2, "eventType": THREAD_NAME, "globalTid": BACKWARD, "text": "autograd"},
    ]
    calls: list[Row] = []
    kernels: list[Row] = []
    for step in range(2):
        at, seq = 1000 * (step + 1), 10 + step
        events += [
            pushed(f"ProfilerStep#{step}", at, at + 900),
            started("epoch", at + 10, at + 950),
            started("loader", at + 5, at + 500),
            pushed("{'traceMarker': ['/app/main.py:3', '/app/net.py:11'], 'funcStack': '/Net/fc'}",
                   at + 100, at + 300),
            pushed("{'mod': 'torch', 'op': 'linear', 'args': [{'type': 'tensor', 'shape': (8, 4), "
                   "'dtype': 'float32'}]}", at + 110, at + 290),
            pushed(f"aten::linear, seq = {seq}, op_id = {seq}, sizes = [[8, 4], [4, 4], []]",
                   at + 120, at + 280),
            pushed("ncclAllReduce", at + 200, at + 240, domainId=1),
            {"start": at + 50, "eventType": MARK, "globalTid": MAIN, "textId": "batch",
             "uint64Value": step},
            pushed(f"AddmmBackward0, seq = {seq}", at + 400, at + 600, BACKWARD),
            pushed("my loss", at + 700, at + 800),
        ]  # fmt: skip
        for place, (thread, name, begin) in enumerate(
            ((MAIN, "gemm", 130), (MAIN, "ncclKernel", 210), (BACKWARD, "dgrad", 450),
             (MAIN, "loss", 750), (MAIN, "alone", 850))
        ):  # fmt: skip
            number = 10 * step + place + 1
            calls.append(
                called("cudaLaunchKernel_v7000", at + begin, at + begin + 5, number, thread)
            )
            kernels.append(ran(name, at + begin + 8, at + begin + 28, number))
    events.append(pushed("never closed", 2960, None))
    events.append(pushed("handed over", 2970, 2990, endGlobalTid=BACKWARD))
    return {NVTX: events, RUNTIME: calls, KERNEL: kernels}


def gpu_metrics() -> dict[str, list[Row]]:
    """Samples of two metrics of a GPU, and a kernel."""
    names = {3: "SMs Active [Throughput %]", 7: "Unit B"}
    return {
        RUNTIME: [called("cudaLaunchKernel_v7000", 10, 15, 1)],
        KERNEL: [ran("gemm", 20, 90, 1)],
        "TARGET_INFO_GPU_METRICS": [
            {"typeId": 5, "sourceId": 0, "typeName": "GPU", "metricId": number, "metricName": name}
            for number, name in names.items()
        ],
        "GPU_METRICS": [
            {"timestamp": at, "typeId": 5, "metricId": number, "value": at + number}
            for at in (20, 40, 60) for number in names
        ],
    }  # fmt: skip
