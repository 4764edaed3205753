"""Kernels, copies, sets and whole CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.enums import COPIES, MEMORIES
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.parts import Part, Slices, rows_of
from torch_tb_profiler.importers.nsys.rows import TimedRows, within
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.nsys.tracks import NO_STREAM
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.limits import MAX_BYTES

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPY_TABLE = "CUPTI_ACTIVITY_KIND_MEMCPY"
SETS = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

WARP_THREADS = 32
"""Of every GPU that CUDA runs on."""


@dataclass(slots=True)
class Work:
    """Work of one kind on devices.

    Attributes:
        part: Its slices and their details.
        global_pid: The process of each.
        graph_node: The node of a CUDA graph that each is.
    """

    part: Part
    global_pid: Int64
    graph_node: Int64


def read_kernels(export: Export) -> Work:
    """Kernels, each by its demangled name where there is one."""
    rows = TimedRows(export.database, KERNELS, export.quality)
    slices, place = _placed(export, rows, Category.KERNEL, _kernel_names(export, rows))
    launched = rows.columns("registersPerThread", "staticSharedMemory", "dynamicSharedMemory")
    shared = [within(launched.pop(f"{kind}SharedMemory"), MAX_BYTES) for kind in _SHARED]
    grid_code, blocks = _dimensions(export.names, rows, "grid")
    block_code, threads = _dimensions(export.names, rows, "block")
    per_sm = blocks / export.devices.sm_counts(place.device)
    details = rows_of(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=place.device,
        stream=place.stream,
        grid_code=grid_code,
        block_code=block_code,
        registers_per_thread=within(launched["registersPerThread"], MAX_BYTES),
        shared_memory_bytes=np.where(
            (shared[0] == ABSENT) | (shared[1] == ABSENT), ABSENT, shared[0] + shared[1]
        ),
        blocks_per_sm=per_sm,
        warps_per_sm=per_sm * threads / WARP_THREADS,
        graph_node=place.graph_node,
    )
    return Work(Part(slices, {"device": details}), place.global_pid, place.graph_node)


_SHARED = ("static", "dynamic")


def read_copies(export: Export) -> Work:
    """Copies, called as the rest of this tool knows them: by direction and memories."""
    rows = TimedRows(export.database, COPY_TABLE, export.quality)
    kinds, memories = COPIES.read(export.database), MEMORIES.read(export.database)

    def name(kind: int, source: int, target: int) -> str:
        direction = kinds.get(kind)
        ends = memories.get(source), memories.get(target)
        words = ["Memcpy"] + ([direction] if direction else [])
        if all(ends) and not (direction or "").endswith(")"):
            words.append(f"({ends[0]} -> {ends[1]})")
        return " ".join(words)

    columns = rows.columns("copyKind", "srcKind", "dstKind")
    codes = _named(export.names, name, *columns.values())
    return _moved(export, rows, Category.MEMCPY, codes)


def read_sets(export: Export) -> Work:
    """Memory that was set."""
    rows = TimedRows(export.database, SETS, export.quality)
    memories = MEMORIES.read(export.database)

    def name(kind: int) -> str:
        return f"Memset ({memories[kind]})" if kind in memories else "Memset"

    return _moved(export, rows, Category.MEMSET, _named(export.names, name, rows["memKind"]))


def read_graphs(export: Export) -> Work:
    """Launches of whole CUDA graphs, where their kernels were not recorded. One whose time is not
    known (it begins and ends at 0) is counted."""
    rows = TimedRows(export.database, GRAPHS, export.quality)
    columns = rows.columns("graphId", "end")
    graph, end_ns = columns["graphId"], columns["end"]
    is_known = (rows.start_ns != 0) | ((end_ns != 0) & (end_ns != ABSENT))
    export.quality.add("graph_without_kernels", len(rows))
    export.quality.add("graph_without_time", int((~is_known).sum()))
    rows.keep(is_known)

    def name(number: int) -> str:
        return "CUDA graph" if number == ABSENT else f"CUDA graph {number}"

    codes = _named(export.names, name, graph[is_known])
    slices, place = _placed(export, rows, Category.KERNEL, codes, word="cuda_graph")
    details = rows_of(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=place.device,
        stream=place.stream,
        graph=graph[is_known],
    )
    return Work(Part(slices, {"device": details}), place.global_pid, np.full(len(rows), ABSENT))


@dataclass(frozen=True, slots=True)
class _Place:
    device: Int64
    stream: Int64
    global_pid: Int64
    graph_node: Int64


_WORDS = {
    Category.KERNEL: "kernel",
    Category.MEMCPY: "gpu_memcpy",
    Category.MEMSET: "gpu_memset",
}


def _placed(
    export: Export,
    rows: TimedRows,
    category: Category,
    name_code: Int32,
    word: str | None = None,
) -> tuple[Slices, _Place]:
    """The slices of some device work, and where it ran."""
    where = rows.columns("deviceId", "contextId", "streamId", "globalPid")
    export.devices.learn_contexts(where["globalPid"], where["contextId"], where["deviceId"])
    device = export.devices.of(where["globalPid"], where.pop("deviceId"))
    stream = where["streamId"]
    stream = np.where(stream == NO_STREAM, ABSENT, stream)
    track = export.tracks.of_streams(where["globalPid"], device, where.pop("contextId"), stream)
    rest = rows.columns("end", "correlationId", "graphNodeId")
    slices = Slices.of(
        category=category,
        raw_category_code=export.names.code(word or _WORDS[category]),
        name_code=name_code,
        track=track,
        start_ns=rows.start_ns,
        end_ns=rest["end"],
        correlation=rest["correlationId"],
    )
    return slices, _Place(device, stream, where["globalPid"], rest["graphNodeId"])


def _moved(export: Export, rows: TimedRows, category: Category, name_code: Int32) -> Work:
    slices, place = _placed(export, rows, category, name_code)
    details = rows_of(
        "device",
        len(rows),
        slice=np.arange(len(rows)),
        device=place.device,
        stream=place.stream,
        graph_node=place.graph_node,
        bytes=within(rows["bytes"], MAX_BYTES),
    )
    return Work(Part(slices, {"device": details}), place.global_pid, place.graph_node)


def _kernel_names(export: Export, rows: TimedRows) -> Int32:
    codes = np.full(len(rows), -1, np.int32)
    for column in ("demangledName", "shortName", "mangledName"):
        nameless = codes < 0
        if not nameless.any():
            break
        codes[nameless] = export.names.codes_of(rows[column][nameless])
    nameless = codes < 0
    if nameless.any():
        export.quality.add("missing_name", int(nameless.sum()))
        codes[nameless] = export.names.code(UNNAMED)
    return codes


def _named(names: Names, name: Callable[..., str], *columns: Int64) -> Int32:
    """Per row the code of the name that its values make."""
    known, place = distinct_rows(*columns)
    made = (name(*values) for values in zip(*(each.tolist() for each in known), strict=True))
    return names.codes(made)[place]


def _dimensions(names: Names, rows: TimedRows, of: str) -> tuple[Int32, Float64]:
    """Per row the code of its three dimensions as text, and their product as a number."""
    columns = rows.columns(*(f"{of}{axis}" for axis in "XYZ"))
    known, place = distinct_rows(*columns.values())
    del columns
    sizes = [tuple(sizes) for sizes in zip(*(each.tolist() for each in known), strict=True)]
    codes = names.codes(None if ABSENT in each else str(list(each)) for each in sizes)
    products = np.array(
        [np.nan if min(each) < 0 else float(np.prod(each, dtype=float)) for each in sizes]
    )
    return codes[place], products[place]
