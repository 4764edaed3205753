"""Made up recordings of rocprofv3 and rocmProfileData, written in each of their formats.

The fields are those of real JSON files; the tables follow ROCprofiler-SDK's schema of rocpd
(``rocpd_tables.sql``, version 3, both generations) and that of a real ``.rpd``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

KINDS: dict[str, list[str]] = {
    "NONE": [],
    "HSA_CORE_API": ["hsa_init", "hsa_signal_wait_scacquire"],
    "HIP_RUNTIME_API_EXT": ["hipMalloc", "hipLaunchKernel", "hipMemcpyAsync"],
    "HIP_COMPILER_API": ["__hipPushCallConfiguration"],
    "MARKER_CORE_API": ["roctxMarkA", "roctxRangePushA", "roctxRangePop", "roctxRangeStartA"],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA"],
    "RCCL_API": ["ncclAllReduce"],
    "MEMORY_COPY": [
        "MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE",
        "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE",
    ],
    "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE"],
    "MEMORY_ALLOCATION": [
        "MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_VMEM_ALLOCATE",
        "MEMORY_ALLOCATION_FREE",
    ],
    "SCRATCH_MEMORY": ["SCRATCH_MEMORY_NONE", "SCRATCH_MEMORY_ALLOC"],
    "ROCDECODE_API": ["rocDecDecodeFrame"],
}  # fmt: skip
"""Kind of records → its operations, by their numbers."""

CALLS = {"hip_api": ("HIP_RUNTIME_API_EXT", "HIP_COMPILER_API"), "hsa_api": ("HSA_CORE_API",),
         "rccl_api": ("RCCL_API",), "rocdecode_api": ("ROCDECODE_API",),
         "marker_api": ("MARKER_CORE_API", "MARKER_CORE_RANGE_API")}  # fmt: skip
"""List of a JSON file → kinds of its records."""

COPIES = {(0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 4}
"""(reads a GPU, writes a GPU) → operation of MEMORY_COPY."""

CPU, GPU = 1, 2
KERNELS = ("void gemm<float>(float*)", "vector_add(int*, int)", "Cijk_Ailk_Bljk_HHS_BH", "fill")
MESSAGES = ("forward", "aten::mm, op_id = 3", "ProfilerStep#1", "ProfilerStep#2", "optimizer")

Row = dict[str, Any]


@dataclass
class Process:
    """What one process recorded: rows with the names of the JSON records' fields, flat.

    ``call`` is the correlation id of a row, ``agent``, ``source`` and ``target`` are positions in
    ``agents``, whose values say whether each is a GPU.
    """

    pid: int = 100
    agents: tuple[bool, ...] = (False, True, True)
    kernels: Sequence[str] = KERNELS
    dispatches: list[Row] = field(default_factory=list)
    copies: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    allocations: list[Row] = field(default_factory=list)
    counters: list[Row] = field(default_factory=list)
    samples: list[Row] = field(default_factory=list)
    counter_names: Sequence[str] = ("SQ_WAVES", "GRBM_COUNT")
    messages: dict[int, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: {"API_KEY": "secret"})


def handle(process: Process, agent: int) -> int:
    """The id of an agent."""
    return 37_000 + process.pid + agent


def training() -> Process:
    """Two steps of a range with operators, launches, copies, memory and counters on two GPUs."""
    process = Process()
    for step in (1, 2):
        at, base = 1_000_000 * step, 100 * step
        process.calls += [
            call("roctxRangePushA", at, at + 900_000, base),
            call("roctxThreadRangeA", at + 1000, at + 300_000, base + 1),
            call("hipMemcpyAsync", at + 400_000, at + 410_000, base + 20),
            call("roctxMarkA", at + 500_000, at + 500_000, base + 30),
        ]
        process.messages |= {base: f"ProfilerStep#{step}", base + 30: "checkpoint",
                             base + 1: "aten::mm, op_id = 3, sizes = [[2, 8], [8, 4]]"}  # fmt: skip
        for gpu in (1, 2):
            begin, number = at + 20_000 * gpu, base + 10 + gpu
            process.calls.append(call("hipLaunchKernel", begin, begin + 5000, number))
            process.dispatches.append(
                dispatch(begin + 10_000, begin + 90_000, number, agent=gpu, kernel=gpu - 1,
                         dispatch=base + gpu, stream=gpu)
            )  # fmt: skip
            process.counters += [
                {"dispatch": base + gpu, "counter": counter, "value": value * step}
                for counter, value in ((0, 64.0), (0, 64.0), (1, 1000.0))
            ]
        process.copies.append(
            {"source": 0, "target": 1, "bytes": 4096, "call": base + 20, "stream": 2,
             "start": at + 420_000, "end": at + 450_000, "thread": 7}
        )  # fmt: skip
    process.allocations = [
        {"operation": 1, "agent": 1, "address": 0x7F00, "bytes": 1 << 20, "time": 900_000},
        {"operation": 3, "agent": None, "address": 0x7F00, "bytes": 0, "time": 2_950_000},
    ]
    for row in process.allocations:
        row["thread"] = 7
    return process


def call(function: str, start: int, end: int, number: int, kind: str | None = None) -> Row:
    """A call; ``number`` is its correlation id."""
    kind = kind or next(each for each, functions in KINDS.items() if function in functions)
    return {"kind": kind, "function": function, "start": start, "end": end, "call": number,
            "thread": 7}  # fmt: skip


def dispatch(start: int, end: int, number: int, **more: Any) -> Row:
    """A dispatch that the call ``number`` launched."""
    return {"agent": 1, "kernel": 0, "start": start, "end": end, "call": number, "dispatch": 1,
            "queue": 4, "stream": 1, "thread": 7, "external": 0, "workgroup": (64, 2, 1),
            "grid": (1024, 4, 1), "lds": 512, "scratch": 0, **more}  # fmt: skip


@st.composite
def processes(draw: st.DrawFn, *, pid: int = 100, first_ns: int = 1_000_000) -> Process:
    """A random process."""
    rng = random.Random(draw(st.integers(0, 10**9)))
    process = Process(pid=pid, agents=(False, True, True)[: draw(st.integers(1, 3))])
    at = first_ns
    for number in range(1, draw(st.integers(1, 26))):
        at += rng.randrange(1, 5000)
        list_name = rng.choice(list(CALLS))
        kind = rng.choice(CALLS[list_name])
        function = rng.choice(KINDS[kind])
        end = at + rng.choice([1, 700, 4000])
        process.calls.append(call(function, at, end, number, kind) | {"thread": rng.choice([7, 8])})
        if list_name == "marker_api" and rng.random() < 0.8:
            process.messages[number] = rng.choice(MESSAGES)
        _add_random_work(process, rng, function, end, number)
    return process


def _add_random_work(
    process: Process, rng: random.Random, function: str, at: int, number: int
) -> None:
    gpus = [agent for agent, is_gpu in enumerate(process.agents) if is_gpu]
    if gpus and (function == "hipLaunchKernel" or rng.random() < 0.2):
        work = dispatch(at, at + rng.randrange(5000), rng.choice([number, 10**6]))
        work |= {"agent": rng.choice(gpus), "kernel": rng.randrange(len(KERNELS)),
                 "dispatch": len(process.dispatches) + 1, "stream": rng.choice([0, 1, 2]),
                 "scratch": rng.choice([0, 128]), "grid": (rng.choice([64, 4096]), 2, 1),
                 "workgroup": (rng.choice([1, 64]), 1, 1)}  # fmt: skip
        process.dispatches.append(work)
        process.counters += [
            {"dispatch": work["dispatch"], "counter": rng.randrange(2), "value": float(each)}
            for each in range(rng.choice([0, 0, 1, 3]))
        ]
    if function == "hipMemcpyAsync":
        source, target = (rng.randrange(len(process.agents)) for _ in range(2))
        process.copies.append(
            {"source": source, "target": target, "bytes": rng.randrange(10**6), "start": at,
             "end": at + 50, "call": number, "stream": 1, "thread": 7}
        )  # fmt: skip
    if function == "hipMalloc" and gpus:
        process.allocations.append(
            {"operation": rng.choice([1, 2]), "agent": gpus[0], "address": number << 12,
             "bytes": rng.randrange(10**9), "time": at, "thread": 7}
        )  # fmt: skip


def to_json(given: Iterable[Process]) -> dict[str, Any]:
    """The JSON document of rocprofv3."""
    return {"rocprofiler-sdk-tool": [_json_process(process) for process in given]}


def _json_process(process: Process) -> Row:
    kinds = list(KINDS)

    def timed(row: Row, kind: str, operation: int) -> Row:
        return {"size": 64, "kind": kinds.index(kind), "operation": operation,
                "thread_id": row["thread"], "correlation_id": {"internal": row.get("call", 0),
                "external": row.get("external", 0)}, "start_timestamp": row["start"],
                "end_timestamp": row["end"]}  # fmt: skip

    def size(values: tuple[int, int, int]) -> Row:
        return dict(zip("xyz", values, strict=True))

    def info(row: Row) -> Row:
        return {"size": 72, "agent_id": {"handle": handle(process, row["agent"])},
                "queue_id": {"handle": row["queue"]}, "kernel_id": row["kernel"] + 1,
                "dispatch_id": row["dispatch"], "private_segment_size": row["scratch"],
                "group_segment_size": row["lds"], "workgroup_size": size(row["workgroup"]),
                "grid_size": size(row["grid"])}  # fmt: skip

    by_dispatch: dict[int, list[Row]] = {}
    for row in process.counters:
        value = {"counter_id": {"handle": 900 + row["counter"]}, "value": row["value"]}
        by_dispatch.setdefault(row["dispatch"], []).append(value)
    buffers: dict[str, list[Row]] = {
        "kernel_dispatch": [
            timed(row, "KERNEL_DISPATCH", 1)
            | {"dispatch_info": info(row), "stream_id": {"handle": row["stream"]}}
            for row in process.dispatches
        ],
        "memory_copy": [
            timed(row, "MEMORY_COPY", copy_operation(process, row))
            | {"dst_agent_id": {"handle": handle(process, row["target"])},
               "src_agent_id": {"handle": handle(process, row["source"])}, "bytes": row["bytes"],
               "stream_id": {"handle": row["stream"]}}
            for row in process.copies
        ],
        "memory_allocation": [
            timed(row | {"start": row["time"], "end": row["time"] + 5}, "MEMORY_ALLOCATION",
                  row["operation"])
            | {"agent_id": {"handle": 0 if row["agent"] is None else handle(process, row["agent"])},
               "address": hex(row["address"]), "allocation_size": row["bytes"]}
            for row in process.allocations
        ],
    }  # fmt: skip
    for name, of_list in CALLS.items():
        buffers[name] = [
            timed(row, row["kind"], KINDS[row["kind"]].index(row["function"]))
            for row in process.calls
            if row["kind"] in of_list
        ]
    return {
        "metadata": {"node": {"id": 1, "machine_id": "0" * 32, "hostname": "secret-host"},
                     "pid": process.pid, "command": ["secret-command", "--token=secret"]},
        "agents": [
            {"size": 312, **agent_document(process, number)}
            for number in range(len(process.agents))
        ],
        "counters": [
            {"agent_id": {"handle": 1}, "id": {"handle": 900 + number}, "name": name,
             "dimension_ids": [1, 2]}
            for number, name in enumerate(process.counter_names)
        ],
        "strings": {
            "callback_records": [],
            "buffer_records": [{"kind": kind, "operations": each} for kind, each in KINDS.items()],
            "marker_api": [{"key": key, "value": text} for key, text in process.messages.items()],
            "correlation_id": {"external": [{"key": 77, "value": "renamed by a range"}]},
        },
        "code_objects": [{"size": 0}],
        "kernel_symbols": [
            {"size": 88, "kernel_id": number + 1, "kernel_name": f"{name}.kd",
             "formatted_kernel_name": name, "arch_vgpr_count": 16, "accum_vgpr_count": 4}
            for number, name in enumerate(process.kernels)
        ],
        "callback_records": {
            "counter_collection": [
                {"thread_id": row["thread"], "dispatch_data": {
                    "correlation_id": {"internal": row["call"], "external": 0},
                    "start_timestamp": row["start"], "end_timestamp": row["end"],
                    "dispatch_info": info(row)}, "records": by_dispatch[row["dispatch"]]}
                for row in process.dispatches if row["dispatch"] in by_dispatch
            ]
        },
        "buffer_records": buffers,
    }  # fmt: skip


def agent_document(process: Process, number: int) -> Row:
    """An agent as JSON files and rocpd databases describe it."""
    is_gpu = process.agents[number]
    known = {"id": {"handle": handle(process, number)}, "type": GPU if is_gpu else CPU,
             "node_id": number, "max_waves_per_simd": 8, "lds_size_in_kb": 64,
             "workgroup_max_size": 1024, "gfx_target_version": 90402}  # fmt: skip
    if not is_gpu:
        return known | {"name": "a processor", "product_name": "a processor", "cu_count": 64,
                        "logical_node_type_id": number}  # fmt: skip
    return known | {"name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304,
                    "logical_node_type_id": sum(process.agents[:number]), "simd_per_cu": 4,
                    "max_waves_per_cu": 32, "wave_front_size": 64,
                    "mem_banks": [{"heap_type": 1, "size_in_bytes": 192 << 30}]}  # fmt: skip


def copy_operation(process: Process, row: Row) -> int:
    """The recorder's number for the direction of a copy."""
    return COPIES[int(process.agents[row["source"]]), int(process.agents[row["target"]])]


def write_json(path: Path, given: Iterable[Process], indent: int | None = None) -> Path:
    """A JSON file of these processes."""
    return write_document(path, to_json(given), indent)


def write_document(path: Path, document: Any, indent: int | None = None) -> Path:
    """A JSON file of a document."""
    path.write_text(json.dumps(document, indent=indent, separators=(",", ":")))
    return path
