"""Dispatches, copies and other work of devices as slices with device details."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.device_work import dimensions
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.parts import SliceColumns, SlicePart, build_table
from torch_tb_profiler.importers.rocprof.assembly import (
    LinkedPart,
    RocprofAssembly,
    end_times,
    or_unnamed,
)
from torch_tb_profiler.importers.rocprof.recording import KernelSymbols, Rows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Float64, Int32, Int64
from torch_tb_profiler.trace.lookup import positions_in

AXES = "xyz"

RAW_CATEGORIES = {
    Category.KERNEL: "kernel",
    Category.MEMCPY: "gpu_memcpy",
    Category.MEMSET: "gpu_memset",
}
"""Raw categories, as in Kineto's traces."""

OTHER = "gpu_other"

REGION = "kernel_rename"
"""Argument with the range that the recorder names a kernel after (``--kernel-rename``)."""

MAX_COUNTER = 1e30
"""A larger value of a counter is damage."""

EXTERNAL = "external_correlation_id"
SCRATCH = "private_segment_size"
"""Argument with the scratch memory of one work item, in bytes."""


def read_dispatches(assembly: RocprofAssembly, recording: int) -> LinkedPart:
    """The kernels of a recording, with their counters as arguments."""
    rows = assembly.take(recording, "dispatches")
    symbols = assembly.recordings[recording].kernels
    size = len(rows["start"])
    position = positions_in(symbols.ids, rows["kernel"])
    track, device, stream = _location(assembly, recording, rows)
    slices = SliceColumns.build(
        category=Category.KERNEL,
        raw_category_code=assembly.texts.code(RAW_CATEGORIES[Category.KERNEL]),
        name_code=_kernel_names(assembly, symbols, position),
        track=track,
        start_ns=rows["start"],
        end_ns=end_times(rows),
        correlation=rows["correlation"],
    )
    blocks = [_blocks(rows[f"grid_{axis}"], rows[f"workgroup_{axis}"]) for axis in AXES]
    grid_code, block_count = dimensions(assembly.texts, blocks)
    block_code, items = dimensions(assembly.texts, [rows[f"workgroup_{axis}"] for axis in AXES])
    per_unit = block_count / assembly.gpus.values(device, "sm_count")
    details = build_table(
        "device",
        size,
        slice=np.arange(size),
        device=device,
        stream=stream,
        grid_code=grid_code,
        block_code=block_code,
        registers_per_thread=np.append(symbols.registers, ABSENT)[position],
        shared_memory_bytes=rows["group_segment"],
        blocks_per_sm=per_unit,
        warps_per_sm=per_unit * items / assembly.gpus.values(device, "warp_size"),
    )
    tables = {"device": details, "arguments": _arguments(assembly, recording, rows)}
    return LinkedPart(recording, SlicePart(slices, tables), rows["correlation"])


def read_operations(assembly: RocprofAssembly, recording: int) -> LinkedPart:
    """Copies, fills and what is of an unknown kind, which is no work and is counted."""
    rows = assembly.take(recording, "operations")
    size = len(rows["start"])
    track, device, stream = _location(assembly, recording, rows)
    is_other = rows["category"] == Category.DEVICE_OTHER
    assembly.quality.add("unknown_category", int(is_other.sum()))
    raw = np.full(size, assembly.texts.code(OTHER), np.int32)
    for category, text in RAW_CATEGORIES.items():
        raw[rows["category"] == category] = assembly.texts.code(text)
    slices = SliceColumns.build(
        category=rows["category"].astype(np.int8),
        raw_category_code=raw,
        name_code=or_unnamed(assembly, rows["name"].astype(np.int32)),
        track=track,
        start_ns=rows["start"],
        end_ns=end_times(rows),
        correlation=rows["correlation"],
    )
    details = build_table(
        "device",
        size,
        slice=np.arange(size),
        device=device,
        stream=stream,
        bytes=rows["bytes"],
    )
    return LinkedPart(recording, SlicePart(slices, {"device": details}), rows["correlation"])


def _location(assembly: RocprofAssembly, recording: int, rows: Rows) -> tuple[Int32, Int64, Int64]:
    """The track, device and stream of work."""
    device = assembly.gpus.numbers(recording, rows["agent"])
    track, stream = assembly.tracks.stream_tracks(
        recording, rows["pid"], device, rows["queue"], rows["stream"]
    )
    return track, device, stream


def _kernel_names(assembly: RocprofAssembly, symbols: KernelSymbols, position: Int64) -> Int32:
    known, inverse = distinct(position)
    names = (symbols.names[each] if each >= 0 else None for each in known.tolist())
    return or_unnamed(assembly, assembly.texts.codes(names)[inverse])


def _blocks(items: Int64, workgroup: Int64) -> Int64:
    """The number of workgroups in one dimension, the last of which may be incomplete."""
    is_known = (items >= 0) & (workgroup > 0)
    return np.where(is_known, -(-items // np.where(is_known, workgroup, 1)), ABSENT)


def _arguments(assembly: RocprofAssembly, recording: int, rows: Rows) -> ColumnArrays:
    """What no column models: counters, scratch memory, the range that names a kernel, and the id
    that the program gave it."""
    parts = [_counters(assembly, recording, rows["dispatch"])]
    has_region = np.flatnonzero(rows["region"] >= 0)
    regions = rows["region"][has_region].astype(np.int32)
    parts.append(_column(assembly, has_region, REGION, text_code=regions))
    for key, name in ((SCRATCH, "private_segment"), (EXTERNAL, "external")):
        has_value = np.flatnonzero(rows[name] > 0)
        value = rows[name][has_value].astype(np.float64)
        parts.append(_column(assembly, has_value, key, value=value))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _column(
    assembly: RocprofAssembly,
    rows: Int64,
    key: str,
    value: Float64 | None = None,
    text_code: Int32 | None = None,
) -> ColumnArrays:
    columns = {"value": value, "text_code": text_code}
    return build_table(
        "arguments",
        len(rows),
        slice=rows,
        key_code=np.full(len(rows), assembly.texts.code(key), np.int32),
        **{name: values for name, values in columns.items() if values is not None},
    )


def _counters(assembly: RocprofAssembly, recording: int, dispatches: Int64) -> ColumnArrays:
    """The counters of dispatches: the sum over all instances of each, as the recorder reports it.
    Values that are no number, and those of dispatches without a row, are left out."""
    counters = assembly.recordings[recording].take("counters")
    known, first = np.unique(dispatches, return_index=True)
    position = positions_in(known, counters["dispatch"])
    is_known = (position >= 0) & (counters["dispatch"] != ABSENT)
    is_known &= np.abs(counters["value"]) < MAX_COUNTER
    assembly.quality.add("rocprof_counter_unmatched", int((~is_known).sum()))
    row = np.append(first, -1)[position][is_known]
    key, value = counters["key"][is_known], counters["value"][is_known]
    order = np.lexsort((key, row))
    row, key = row[order], key[order]
    starts = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(key) != 0)))
    starts = starts[: len(row)]
    sums = np.add.reduceat(value[order], starts) if len(starts) else np.empty(0)
    return build_table(
        "arguments",
        len(starts),
        slice=row[starts],
        key_code=key[starts].astype(np.int32),
        value=sums,
    )
