"""From the SQLite export of Nsight Systems to event columns."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from torch_tb_profiler.importers.durations import settle_durations
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.nsys.api_calls import Calls, read_calls, read_overhead
from torch_tb_profiler.importers.nsys.device_work import (
    Work,
    read_copies,
    read_graphs,
    read_kernels,
    read_sets,
)
from torch_tb_profiler.importers.nsys.devices import read_devices
from torch_tb_profiler.importers.nsys.diagnostics import count_diagnostics
from torch_tb_profiler.importers.nsys.distinct import distinct
from torch_tb_profiler.importers.nsys.export import Export
from torch_tb_profiler.importers.nsys.graph_nodes import owners
from torch_tb_profiler.importers.nsys.host_calls import read_host_calls
from torch_tb_profiler.importers.nsys.info import base_ns, trace_info
from torch_tb_profiler.importers.nsys.lacks import note_lacks
from torch_tb_profiler.importers.nsys.large_tables import preload
from torch_tb_profiler.importers.nsys.launches import CallsByCorrelation
from torch_tb_profiler.importers.nsys.memory_usage import read_memory
from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.parts import Part, join_parts
from torch_tb_profiler.importers.nsys.processes import read_processes
from torch_tb_profiler.importers.nsys.ranges import read_ranges
from torch_tb_profiler.importers.nsys.samples import read_samples
from torch_tb_profiler.importers.nsys.scheduling import read_scheduling
from torch_tb_profiler.importers.nsys.synchronization import read_synchronization
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import Folder, Source
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Int64
from torch_tb_profiler.trace.quality import QualityReport

OWN_TABLES = (
    "NVTX_EVENTS",
    "OSRT_API",
    "GPU_METRICS",
    "SCHED_EVENTS",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU",
    "ANALYSIS_DETAILS",
)
"""An export has one of these, or a table of CUPTI's activities."""

ACTIVITIES = "CUPTI_ACTIVITY_KIND_"

EVENTS = (("slices", "start_ns"), ("samples", "time_ns"), ("instants", "time_ns"))
"""Tables of events; an export without any holds nothing."""


def read(source: Source | Folder, reading: Reading) -> EventColumns:
    """The trace that an export holds.

    Raises:
        TraceFormatError: it is no SQLite database, or none of Nsight Systems; the error says what
            it is.
        StorageError, OSError: it cannot be read.
    """
    if isinstance(source, Folder):
        raise TraceFormatError(
            "not_a_trace", f"{source.name} is a folder.", "Name the .sqlite file in it."
        )
    return read_export(source.local_path(reading.progress), source.name, reading)


def read_export(path: str, name: str, reading: Reading) -> EventColumns:
    """The trace of the export at ``path``, called ``name`` in messages; see :func:`read`."""
    with Database.open(path, name, reading) as database:
        _check(database, name)
        preload(database)
        columns = _columns(_export(database))
    reading.progress(os.stat(path).st_size)
    columns.quality.merge(database.quality)
    if not any(len(columns.tables[table][column]) for table, column in EVENTS):
        raise TraceFormatError(
            "no_events",
            f"{name} is an export of Nsight Systems without events.",
            "Record with nsys profile --trace=cuda,nvtx,osrt, and export again with --lazy=false.",
        )
    return columns


def _check(database: Database, name: str) -> None:
    if any(table.startswith(ACTIVITIES) or table in OWN_TABLES for table in database.tables):
        return
    raise TraceFormatError(
        "not_nsight",
        f"{name} is an SQLite database, but none that Nsight Systems exported: it has none of "
        f"the tables {ACTIVITIES}KERNEL, NVTX_EVENTS, OSRT_API.",
        "Export the recording again: nsys export --type sqlite --lazy=false FILE.nsys-rep",
    )


def _export(database: Database) -> Export:
    names, devices = Names(database), read_devices(database)
    tracks = Tracks(read_processes(database, names), devices)
    return Export(database, names, tracks, devices, QualityReport())


def _columns(export: Export) -> EventColumns:
    """Everything of an export, in the form that the trace builder takes."""
    calls = read_calls(export)
    work = [each(export) for each in (read_kernels, read_copies, read_sets, read_graphs)]
    ranges = read_ranges(export.database, export.names, export.tracks, export.quality)
    by_correlation = CallsByCorrelation(calls)
    launch = _launches(work, by_correlation)
    owner = _owners(export, calls, work, ranges)
    call_count = len(calls.part.slices)
    parts = [calls.part, *(each.part for each in work), ranges]
    parts += _others(export, calls, by_correlation)
    size = sum(len(part.slices) for part in parts)
    del work, ranges, by_correlation
    tables = join_parts(parts)
    settle_durations(tables["slices"], export.quality)
    export.quality.add("nsys_text_missing", export.names.missing_count)
    export.quality.add("text_cut", export.names.cut_count)
    count_diagnostics(export)
    note_lacks(export)
    return EventColumns(
        format="nsys",
        tables=tables,
        strings=export.names.strings,
        tracks=export.tracks.tracks(),
        base_ns=base_ns(export, tables["slices"]["start_ns"]),
        time_unit_ns=1,
        info=trace_info(export),
        quality=export.quality,
        launch=_for_all(launch, call_count, size),
        owner=_for_all(owner, call_count, size),
    )


def _others(export: Export, calls: Calls, by_correlation: CallsByCorrelation) -> Iterator[Part]:
    """What is neither a call into CUDA nor work nor a range."""
    yield from read_synchronization(export)
    yield from read_overhead(export)
    yield from read_host_calls(export)
    yield read_memory(export, calls, by_correlation)
    yield from read_samples(export)
    yield read_scheduling(export)


def _launches(work: list[Work], by_correlation: CallsByCorrelation) -> list[Int64] | None:
    """Per piece of work the row of the call that launched it, where there are several processes:
    in one the builder finds the same. Work whose call is not in the export has no correlation id
    any more: that of another process would be taken for it."""
    processes = set(by_correlation.processes)
    processes.update(*(distinct(each.global_pid)[0].tolist() for each in work))
    processes.discard(ABSENT)  # work whose process is not told is of the only one there is
    if len(processes) < 2:
        return None
    found = []
    for each in work:
        slices = each.part.slices
        found.append(by_correlation.find(each.global_pid, slices.correlation))
        slices.correlation = np.where(found[-1] == ABSENT, ABSENT, slices.correlation)
    return found


def _owners(export: Export, calls: Calls, work: list[Work], ranges: Part) -> list[Int64] | None:
    """Per piece of work of a replayed graph the row of the range that made its node."""
    if all((each.graph_node == ABSENT).all() for each in work):
        return None
    first = len(calls.part.slices) + sum(len(each.part.slices) for each in work)
    found = []
    for each in work:
        rows = owners(
            export.database,
            export.tracks,
            ranges,
            each.global_pid,
            each.graph_node,
            quality=export.quality,
        )
        found.append(np.where(rows == ABSENT, ABSENT, rows + first))
    return found


def _for_all(of_work: list[Int64] | None, before: int, size: int) -> Int64 | None:
    """What is known per piece of work as a column of all slices: the calls stand before it."""
    if of_work is None:
        return None
    column = np.full(size, ABSENT)
    behind = np.concatenate(of_work)
    column[before : before + len(behind)] = behind
    return column
