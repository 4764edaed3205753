"""The columns of tables with millions of rows: they are read together, with all cores."""

from __future__ import annotations

from torch_tb_profiler.importers.sqlite.database import Database

INTEGERS: dict[str, tuple[str, ...]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
        "demangledName", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
        "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "graphNodeId",
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start", "end", "eventClass", "globalTid", "correlationId", "nameId",
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
        "copyKind", "srcKind", "dstKind", "graphNodeId",
    ),
    "NVTX_EVENTS": (
        "start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId",
    ),
    "OSRT_API": ("start", "end", "globalTid", "nameId"),
    "GPU_METRICS": ("timestamp", "typeId", "metricId"),
    "SCHED_EVENTS": ("start", "globalTid", "isSchedIn"),
}  # fmt: skip

NUMBERS: dict[str, tuple[str, ...]] = {
    "NVTX_EVENTS": (
        "uint64Value", "int64Value", "uint32Value", "int32Value", "doubleValue", "floatValue",
    ),
    "GPU_METRICS": ("value",),
}  # fmt: skip

TEXTS: dict[str, tuple[str, ...]] = {"NVTX_EVENTS": ("text",)}


def preload_large_tables(database: Database) -> None:
    """Read these columns into memory, from which later requests are answered."""
    database.preload(ints=INTEGERS, floats=NUMBERS, codes=TEXTS)
