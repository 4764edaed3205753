"""Reads kernels, copies, memsets and CUDA graphs recorded as a whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.enums import COPIES, MEMORIES
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart, build_table
from torch_tb_profiler.importers.nsys.rows import TimedRows, within
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.nsys.tracks import NO_STREAM
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.constant_columns import is_constant
from torch_tb_profiler.trace.limits import MAX_BYTES

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPY_TABLE = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

WARP_THREADS = 32
"""Threads in a warp, on every GPU that runs CUDA."""


class DeviceWorkPart(Struct):
    """Device work of one kind.

    Attributes:
        part: Its slices with device details.
        global_pid: Process of each slice.
        graph_node: CUDA graph node of each slice, :data:`ABSENT` for none.
    """

    part: SlicePart
    global_pid: Int64
    graph_node: Int64


def read_kernels(export: Export) -> DeviceWorkPart:
    """Read kernels, with their demangled name if there is one."""
    rows = TimedRows(export.database, KERNELS, export.quality)
    slices, location = _slices_on_streams(
        export, rows, Category.KERNEL, _kernel_names(export, rows)
    )
    launched = rows.columns("registersPerThread", "staticSharedMemory", "dynamicSharedMemory")
    shared = _sum_of_present(
        *(within(launched.pop(f"{kind}SharedMemory"), MAX_BYTES) for kind in _SHARED)
    )
    grid_code, blocks = _dimensions(export.names, rows, "grid")
    block_code, threads = _dimensions(export.names, rows, "block")
    per_sm = warps_per_sm = export.devices.sm_counts(location.device)
    if not is_constant(per_sm):
        per_sm = blocks / per_sm
        warps_per_sm = per_sm * threads / WARP_THREADS
    del blocks, threads
    details = build_table(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=location.device,
        stream=location.stream,
        grid_code=grid_code,
        block_code=block_code,
        registers_per_thread=within(launched["registersPerThread"], MAX_BYTES),
        shared_memory_bytes=shared,
        blocks_per_sm=per_sm,
        warps_per_sm=warps_per_sm,
        graph_node=location.graph_node,
    )
    return DeviceWorkPart(
        SlicePart(slices, {"device": details}), location.global_pid, location.graph_node
    )


_SHARED = ("static", "dynamic")


def _sum_of_present(left: Int64, right: Int64) -> Int64:
    """The sum of both columns, absent where one of them is."""
    total = left + right
    for each in (left, right):
        total[each == ABSENT] = ABSENT
    return total


def read_copies(export: Export) -> DeviceWorkPart:
    """Read copies; their names have the direction and memory kinds, as in Kineto's traces."""
    rows = TimedRows(export.database, COPY_TABLE, export.quality)
    kinds, memories = COPIES.read(export.database), MEMORIES.read(export.database)

    def name(kind: int, source: int, target: int) -> str:
        direction = kinds.get(kind)
        memory_kinds = memories.get(source), memories.get(target)
        words = ["Memcpy"] + ([direction] if direction else [])
        if all(memory_kinds) and not (direction or "").endswith(")"):
            words.append(f"({memory_kinds[0]} -> {memory_kinds[1]})")
        return " ".join(words)

    columns = rows.columns("copyKind", "srcKind", "dstKind")
    codes = _format_names(export.names, name, *columns.values())
    return _memory_operations(export, rows, Category.MEMCPY, codes)


def read_sets(export: Export) -> DeviceWorkPart:
    """Read memsets."""
    rows = TimedRows(export.database, SETS, export.quality)
    memories = MEMORIES.read(export.database)

    def name(kind: int) -> str:
        return f"Memset ({memories[kind]})" if kind in memories else "Memset"

    return _memory_operations(
        export, rows, Category.MEMSET, _format_names(export.names, name, rows["memKind"])
    )


def read_graphs(export: Export) -> DeviceWorkPart:
    """Read launches of CUDA graphs that were recorded as a whole, without their kernels. Launches
    without a time (start and end are 0) are left out and counted."""
    rows = TimedRows(export.database, GRAPHS, export.quality)
    columns = rows.columns("graphId", "end")
    graph, end_ns = columns["graphId"], columns["end"]
    is_known = (rows.start_ns != 0) | ((end_ns != 0) & (end_ns != ABSENT))
    export.quality.add("graph_without_kernels", len(rows))
    export.quality.add("graph_without_time", int((~is_known).sum()))
    rows.select(is_known)

    def name(number: int) -> str:
        return "CUDA graph" if number == ABSENT else f"CUDA graph {number}"

    codes = _format_names(export.names, name, graph[is_known])
    slices, location = _slices_on_streams(
        export, rows, Category.KERNEL, codes, raw_category="cuda_graph"
    )
    details = build_table(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=location.device,
        stream=location.stream,
        graph=graph[is_known],
    )
    return DeviceWorkPart(
        SlicePart(slices, {"device": details}), location.global_pid, np.full(len(rows), ABSENT)
    )


class _Location(Struct, frozen=True):
    device: Int64
    stream: Int64
    global_pid: Int64
    graph_node: Int64


_RAW_CATEGORIES = {
    Category.KERNEL: "kernel",
    Category.MEMCPY: "gpu_memcpy",
    Category.MEMSET: "gpu_memset",
}


def _slices_on_streams(
    export: Export,
    rows: TimedRows,
    category: Category,
    name_code: Int32,
    raw_category: str | None = None,
) -> tuple[SliceColumns, _Location]:
    """The slices of some device work, and the process, device and stream of each."""
    location = rows.columns("deviceId", "contextId", "streamId", "globalPid")
    export.devices.add_contexts(location["globalPid"], location["contextId"], location["deviceId"])
    device = export.devices.device_numbers(location["globalPid"], location.pop("deviceId"))
    stream = location.pop("streamId")
    if (stream == NO_STREAM).any():
        stream = np.where(stream == NO_STREAM, ABSENT, stream)
    track = export.tracks.stream_tracks(
        location["globalPid"], device, location.pop("contextId"), stream
    )
    times = rows.columns("end", "correlationId", "graphNodeId")
    slices = SliceColumns.build(
        category=category,
        raw_category_code=export.names.code(raw_category or _RAW_CATEGORIES[category]),
        name_code=name_code,
        track=track,
        start_ns=rows.start_ns,
        end_ns=times["end"],
        correlation=times["correlationId"],
    )
    return slices, _Location(device, stream, location["globalPid"], times["graphNodeId"])


def _memory_operations(
    export: Export, rows: TimedRows, category: Category, name_code: Int32
) -> DeviceWorkPart:
    slices, location = _slices_on_streams(export, rows, category, name_code)
    details = build_table(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=location.device,
        stream=location.stream,
        graph_node=location.graph_node,
        bytes=within(rows["bytes"], MAX_BYTES),
    )
    return DeviceWorkPart(
        SlicePart(slices, {"device": details}), location.global_pid, location.graph_node
    )


def _kernel_names(export: Export, rows: TimedRows) -> Int32:
    codes = export.names.codes_of(rows["demangledName"])
    is_unnamed = codes < 0
    for column in ("shortName", "mangledName"):
        if is_unnamed.any():
            codes[is_unnamed] = export.names.codes_of(rows[column][is_unnamed])
            is_unnamed = codes < 0
    if is_unnamed.any():
        export.quality.add("missing_name", int(is_unnamed.sum()))
        codes[is_unnamed] = export.names.code(UNNAMED)
    return codes


def _format_names(names: TextCodes, name: Callable[..., str], *columns: Int64) -> Int32:
    """Per row the code of the name that ``name`` returns for its values."""
    known, inverse = distinct_rows(*columns)
    texts = (name(*values) for values in zip(*(each.tolist() for each in known), strict=True))
    return names.codes(texts)[inverse]


def _dimensions(names: TextCodes, rows: TimedRows, prefix: str) -> tuple[Int32, Float64]:
    return dimensions(names, list(rows.columns(*(f"{prefix}{axis}" for axis in "XYZ")).values()))


def dimensions(names: TextCodes, sizes: list[Int64]) -> tuple[Int32, Float64]:
    """Per row the code of its three sizes as text, ``"[32, 2, 1]"``, and their product (NaN if one
    is absent)."""
    known, inverse = distinct_rows(*sizes)
    rows = [tuple(row) for row in zip(*(each.tolist() for each in known), strict=True)]
    codes = names.codes(None if ABSENT in each else str(list(each)) for each in rows)
    products = np.array(
        [np.nan if min(each) < 0 else float(np.prod(each, dtype=float)) for each in rows]
    )
    return codes[inverse], products[inverse]
