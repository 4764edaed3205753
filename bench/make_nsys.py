"""Makes an Nsight Systems database: a training on two GPUs, as many kernels as are asked for.

    python bench/make_nsys.py                 5 million kernels, each with its launch
    python bench/make_nsys.py --graphs        as many, replayed by CUDA graphs of 50 nodes

Names, times and sizes are made up; tables and columns are those of schema 3.25. Above the calls
lie NVTX ranges as ``emit_nvtx`` writes them: a step, and an operator around every five launches.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

OUT = Path(__file__).resolve().parent / "out"

NAMES = 300
GPUS = 2
KERNELS_PER_OPERATOR = 5
KERNELS_PER_STEP = 2000
NODES = 50
ROWS_AT_ONCE = 100_000

LAUNCH, GRAPH_LAUNCH, ADD_NODE, FIRST_NAME = 1, 2, 3, 10
PUSH_POP = 59
NODE_CREATION = 77

Columns = Mapping[str, Any]
"""Values by column: an array, a list or one value for all rows."""

KERNEL = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid demangledName "
    "shortName mangledName launchType cacheConfig registersPerThread gridX gridY gridZ blockX "
    "blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal "
    "gridId sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone "
    "qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy "
    "maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage "
    "tensorSizeMinusOneElements"
)
NVTX = (
    "start end eventType rangeId category color text globalTid endGlobalTid textId domainId "
    "uint64Value int64Value doubleValue uint32Value int32Value floatValue jsonTextId jsonText "
    "binaryData"
)
TABLES = {
    "StringIds": "id value",
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId "
    "returnValue callchainId",
    "NVTX_EVENTS": NVTX,
    "CUDA_GRAPH_NODE_EVENTS": "start end eventClass globalTid nameId graphNodeId "
    "originalGraphNodeId",
    "PROCESSES": "globalPid pid name",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime systemClockNs",
    "META_DATA_EXPORT": "name value",
}
TEXT_COLUMNS = ("value", "text", "jsonText", "binaryData", "name", "utcTime", "localTime")


class Process:
    """What one process launches on its GPU, and the ids it has."""

    def __init__(self, number: int, kernels: int) -> None:
        self.device = number
        self.kernels = kernels
        self.pid = 1000 + number
        self.global_pid = (1 << 48) | self.pid << 24
        self.global_tid = self.global_pid | self.pid
        random = np.random.default_rng(number)
        self.names = random.integers(0, NAMES, kernels)
        self.durations = random.integers(4_000, 40_000, kernels)
        gaps = random.integers(500, 3_000, kernels)
        self.starts = np.cumsum(self.durations + gaps) - self.durations + 10**7


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kernels", type=int, default=5_000_000, help="(default: 5 million)")
    parser.add_argument("--graphs", action="store_true", help="replayed by CUDA graphs")
    arguments = parser.parse_args()
    print(nsys_database(arguments.kernels, arguments.graphs))


def nsys_database(kernels: int, graphs: bool) -> Path:
    """The path of a database of so many kernels; it is made when it is not there."""
    path = OUT / f"nsys_{'graphs' if graphs else 'launches'}_{kernels}.sqlite"
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        unfinished.unlink(missing_ok=True)
        _write(unfinished, kernels, graphs)
        unfinished.rename(path)
    return path


def _write(path: Path, kernels: int, graphs: bool) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    for table, columns in TABLES.items():
        declared = ", ".join(
            f"{name} {'TEXT' if name in TEXT_COLUMNS else 'INTEGER'}" for name in columns.split()
        )
        connection.execute(f"CREATE TABLE {table} ({declared})")
    _insert(connection, "StringIds", _strings())
    _insert(
        connection, "META_DATA_EXPORT", {"name": ["EXPORT_SCHEMA_VERSION"], "value": ["3.25.0"]}
    )
    _insert(connection, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs": [1_760_000_000 * 10**9]})
    for number in range(GPUS):
        process = Process(number, kernels // GPUS)
        _insert(
            connection,
            "PROCESSES",
            {"globalPid": [process.global_pid], "pid": process.pid, "name": "python3"},
        )
        _ranges(connection, process)
        if graphs:
            _nodes(connection, process)
            _replays(connection, process)
        else:
            _launches(connection, process)
    connection.commit()
    connection.close()


def _strings() -> Columns:
    names = [
        f"void at::native::vectorized_elementwise_kernel<{number}, float>(int, float)"
        if number % 3
        else f"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x{number}"
        for number in range(NAMES)
    ]
    calls = ["cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000", "cudaGraphAddKernelNode_v10000"]
    ids = [LAUNCH, GRAPH_LAUNCH, ADD_NODE, *range(FIRST_NAME, FIRST_NAME + NAMES)]
    return {"id": ids, "value": [*calls, *names]}


def _kernels(process: Process, correlations: Any, nodes: Any) -> Columns:
    names = process.names + FIRST_NAME
    return {
        "start": process.starts,
        "end": process.starts + process.durations,
        "deviceId": process.device,
        "contextId": 1,
        "streamId": 7,
        "correlationId": correlations,
        "globalPid": process.global_pid,
        "demangledName": names,
        "shortName": names,
        "launchType": 1,
        "registersPerThread": 32 + process.names % 96,
        "gridX": 1 + process.names * 17,
        "gridY": 1,
        "gridZ": 1,
        "blockX": 128,
        "blockY": 1,
        "blockZ": 1,
        "staticSharedMemory": 0,
        "dynamicSharedMemory": process.names % 8 * 4096,
        "localMemoryPerThread": 0,
        "localMemoryTotal": 250_871_808,
        "gridId": np.arange(process.kernels),
        "sharedMemoryExecuted": 32768,
        "graphNodeId": nodes,
    }


def _launches(connection: sqlite3.Connection, process: Process) -> None:
    ids = np.arange(1, process.kernels + 1)
    _insert(connection, "CUPTI_ACTIVITY_KIND_KERNEL", _kernels(process, ids, None))
    _calls(connection, process, process.starts - 8_000, ids, LAUNCH)


def _replays(connection: sqlite3.Connection, process: Process) -> None:
    replays = np.arange(process.kernels) // NODES
    nodes = (1 << 32) + np.arange(process.kernels) % NODES
    _insert(connection, "CUPTI_ACTIVITY_KIND_KERNEL", _kernels(process, replays + 1, nodes))
    starts = process.starts[::NODES] - 8_000
    _calls(connection, process, starts, np.arange(1, len(starts) + 1), GRAPH_LAUNCH)


def _calls(
    connection: sqlite3.Connection,
    process: Process,
    starts: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int64],
    name: int,
) -> None:
    columns = {"start": starts, "end": starts + 3_000, "eventClass": 0, "correlationId": ids}
    shared = {"globalTid": process.global_tid, "nameId": name, "returnValue": 0}
    _insert(connection, "CUPTI_ACTIVITY_KIND_RUNTIME", {**columns, **shared})


def _nodes(connection: sqlite3.Connection, process: Process) -> None:
    """Nodes are made before the first kernel; the graph that runs has clones of them."""
    starts = np.arange(NODES) * 10_000
    made = {"start": starts, "end": starts + 2_000, "globalTid": process.global_tid}
    originals = np.arange(NODES) + 1
    for columns in (
        {"graphNodeId": originals, "nameId": ADD_NODE},
        {"graphNodeId": originals + (1 << 32) - 1, "originalGraphNodeId": originals},
    ):
        _insert(
            connection,
            "CUDA_GRAPH_NODE_EVENTS",
            {**made, "eventClass": NODE_CREATION, **columns},
        )


def _ranges(connection: sqlite3.Connection, process: Process) -> None:
    for text, count in (
        ("aten::linear, seq = {0}, op_id = {0}", KERNELS_PER_OPERATOR),
        ("step {0}", KERNELS_PER_STEP),
    ):
        firsts = np.arange(0, process.kernels, count)
        lasts = np.minimum(firsts + count, process.kernels) - 1
        slack = 500 if count == KERNELS_PER_STEP else 200
        _insert(
            connection,
            "NVTX_EVENTS",
            {
                "start": process.starts[firsts] - 8_000 - slack,
                "end": process.starts[lasts] - 5_000 + slack,
                "eventType": PUSH_POP,
                "text": [text.format(number) for number in range(len(firsts))],
                "globalTid": process.global_tid,
                "domainId": 0,
            },
        )


def _insert(connection: sqlite3.Connection, table: str, columns: Columns) -> None:
    size = max(len(values) for values in columns.values() if isinstance(values, (list, np.ndarray)))
    places = ", ".join("?" * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"
    for first in range(0, size, ROWS_AT_ONCE):
        part = slice(first, min(size, first + ROWS_AT_ONCE))
        cells = [_part(values, part) for values in columns.values()]
        connection.executemany(statement, zip(*cells, strict=True))


def _part(values: Any, part: slice) -> list[Any]:
    if isinstance(values, np.ndarray):
        return list(values[part].tolist())
    if isinstance(values, list):
        return values[part]
    return [values] * (part.stop - part.start)


if __name__ == "__main__":
    main()
