"""Reads an SQLite export of Nsight Systems to event columns."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.importers.durations import sanitize_durations
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.nsys.api_calls import CALLS, ApiCalls, read_calls, read_overhead
from torch_tb_profiler.importers.nsys.device_work import (
    COPY_TABLE,
    KERNELS,
    DeviceWorkPart,
    read_copies,
    read_graphs,
    read_kernels,
    read_sets,
)
from torch_tb_profiler.importers.nsys.devices import read_devices
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.graph_nodes import find_owners
from torch_tb_profiler.importers.nsys.host_calls import read_host_calls
from torch_tb_profiler.importers.nsys.info import base_ns, count_diagnostics, trace_info
from torch_tb_profiler.importers.nsys.large_tables import preload_large_tables
from torch_tb_profiler.importers.nsys.launches import CallsByCorrelation
from torch_tb_profiler.importers.nsys.memory_usage import read_memory
from torch_tb_profiler.importers.nsys.missing_data import set_missing_reasons
from torch_tb_profiler.importers.nsys.names import TraceStrings
from torch_tb_profiler.importers.nsys.nvtx import EVENTS as RANGES
from torch_tb_profiler.importers.nsys.parts import SlicePart, join_parts
from torch_tb_profiler.importers.nsys.processes import read_processes
from torch_tb_profiler.importers.nsys.ranges import read_ranges
from torch_tb_profiler.importers.nsys.samples import read_samples
from torch_tb_profiler.importers.nsys.scheduling import read_scheduling
from torch_tb_profiler.importers.nsys.synchronization import read_synchronization
from torch_tb_profiler.importers.nsys.tracks import NsysTracks
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

NSYS_TABLES = (
    "NVTX_EVENTS",
    "OSRT_API",
    "GPU_METRICS",
    "SCHED_EVENTS",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU",
    "ANALYSIS_DETAILS",
)
"""An export has one of these tables, or a table of CUPTI activities."""

ACTIVITIES = "CUPTI_ACTIVITY_KIND_"

LISTED_TABLES, MAX_TABLE_CHARS = 5, 60
"""How many tables of an unknown database are named, and how much of each name."""

NO_ROW = -1
"""Marks a slice without a launch or an owner."""

EVENTS = (("slices", "start_ns"), ("samples", "time_ns"), ("instants", "time_ns"))
"""Tables and columns that show whether an export has any events."""


def read(source: Source | Folder, reading: Reading) -> EventColumns:
    """Read the trace of an export.

    Raises:
        TraceFormatError: it is not an SQLite database, or not one of Nsight Systems.
        StorageError, OSError: it cannot be read.
    """
    if isinstance(source, Folder):
        raise TraceFormatError(
            "not_a_trace", f"{source.name} is a folder.", "Name the .sqlite file in it."
        )
    return read_export(source.local_path(reading.progress), source.name, reading)


def read_export(path: str, name: str, reading: Reading) -> EventColumns:
    """Read the export at ``path``, which messages call ``name``; see :func:`read`."""
    with Database.open(path, name, reading) as database:
        _check(database, name)
        preload_large_tables(database)
        columns = _columns(_export(database))
    reading.progress(os.stat(path).st_size)
    columns.quality.merge(database.quality)
    if not any(len(columns.tables[table][column]) for table, column in EVENTS):
        raise TraceFormatError(
            "no_events",
            f"{name} is an export of Nsight Systems, but has no events.",
            "Record with nsys profile --trace=cuda,nvtx,osrt, and export again with --lazy=false.",
        )
    return columns


def _check(database: Database, name: str) -> None:
    if any(table.startswith(ACTIVITIES) or table in NSYS_TABLES for table in database.tables):
        return
    tables = sorted(database.tables)
    listed = ", ".join(each[:MAX_TABLE_CHARS] for each in tables[:LISTED_TABLES])
    more = ", …" * (len(tables) > LISTED_TABLES)
    raise TraceFormatError(
        "not_nsight",
        f"{name} is an SQLite database of another program, with "
        f"{f'the tables {listed}{more}' if tables else 'no tables'}: it has none of the tables "
        f"{ACTIVITIES}KERNEL, NVTX_EVENTS, OSRT_API of Nsight Systems, or of rocpd and Ascend.",
        "Export a report again: nsys export --type sqlite --lazy=false FILE.nsys-rep; with "
        "rocprofv3 record with --output-format rocpd.",
    )


def _export(database: Database) -> Export:
    names, devices = TraceStrings(database), read_devices(database)
    tracks = NsysTracks(read_processes(database, names), devices)
    return Export(database, names, tracks, devices, QualityReport())


def _columns(export: Export) -> EventColumns:
    """Read all tables of an export to event columns."""
    calls = read_calls(export)
    export.database.release(CALLS)
    work = [each(export) for each in (read_kernels, read_copies, read_sets, read_graphs)]
    for table in (KERNELS, COPY_TABLE):
        export.database.release(table)
    ranges = read_ranges(export.database, export.names, export.tracks, export.quality)
    export.database.release(RANGES)
    by_correlation = CallsByCorrelation(calls)
    launch = _launches(work, by_correlation)
    owner = _graph_owners(export, calls, work, ranges)
    call_count = len(calls.part.slices)
    parts = [calls.part, *(each.part for each in work), ranges]
    parts += _read_other_parts(export, calls, by_correlation)
    size = sum(len(part.slices) for part in parts)
    del work, ranges, by_correlation
    tables = join_parts(parts)
    sanitize_durations(tables["slices"], export.quality)
    export.quality.add("nsys_text_missing", export.names.missing_count)
    export.quality.add("text_cut", export.names.cut_count)
    count_diagnostics(export)
    set_missing_reasons(export, tables["slices"]["category"])
    return EventColumns(
        format="nsys",
        tables=tables,
        strings=export.names.strings,
        tracks=export.tracks.tracks(),
        base_ns=base_ns(export, tables["slices"]["start_ns"]),
        time_unit_ns=1,
        info=trace_info(export),
        quality=export.quality,
        launch=_for_all_slices(launch, call_count, size),
        owner=_for_all_slices(owner, call_count, size),
    )


def _read_other_parts(
    export: Export, calls: ApiCalls, by_correlation: CallsByCorrelation
) -> Iterator[SlicePart]:
    """Read everything except CUDA calls, device work and ranges."""
    yield from read_synchronization(export)
    yield from read_overhead(export)
    yield from read_host_calls(export)
    yield read_memory(export, calls, by_correlation)
    yield from read_samples(export)
    yield read_scheduling(export)


def _launches(work: list[DeviceWorkPart], by_correlation: CallsByCorrelation) -> list[Int32] | None:
    """Per piece of work the row of the call that launched it, if there are several processes: for a
    single one the builder finds the same. The correlation id of work whose call is not in the
    export is removed: it could match a call of another process."""
    processes = set(by_correlation.processes)
    processes.update(*(distinct(each.global_pid)[0].tolist() for each in work))
    processes.discard(ABSENT)  # work without a process id belongs to the only process
    if len(processes) < 2:
        return None
    launches = []
    for each in work:
        slices = each.part.slices
        rows = by_correlation.find(each.global_pid, slices.correlation)
        slices.correlation = np.where(rows == ABSENT, ABSENT, slices.correlation)
        launches.append(_row_numbers(rows))
    return launches


def _graph_owners(
    export: Export, calls: ApiCalls, work: list[DeviceWorkPart], ranges: SlicePart
) -> list[Int32] | None:
    """Per piece of work of a replayed graph the row of the range that created its node."""
    if all((each.graph_node == ABSENT).all() for each in work):
        return None
    first = len(calls.part.slices) + sum(len(each.part.slices) for each in work)
    owners = []
    for each in work:
        rows = find_owners(
            export.database,
            export.tracks,
            ranges,
            each.global_pid,
            each.graph_node,
            quality=export.quality,
        )
        owners.append(_row_numbers(rows, first))
    return owners


def _row_numbers(rows: Int64, first: int = 0) -> Int32:
    """Rows counted from ``first`` on, absent ones as :data:`NO_ROW`; half the memory."""
    numbers = np.maximum(rows, NO_ROW).astype(np.int32)
    numbers[numbers != NO_ROW] += np.int32(first)
    return numbers


def _for_all_slices(work_values: list[Int32] | None, before: int, size: int) -> Int32 | None:
    """Rows per piece of work as a column of all slices; the calls come before the work."""
    if work_values is None:
        return None
    column = np.full(size, NO_ROW, np.int32)
    for values in work_values:
        column[before : before + len(values)] = values
        before += len(values)
    return column
