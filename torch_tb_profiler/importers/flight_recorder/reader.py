"""Reads a dump of the flight recorder as side tables."""

from __future__ import annotations

import os

import polars as pl

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.flight_recorder.document import HINT, read_document
from torch_tb_profiler.importers.flight_recorder.entries import DumpEntries
from torch_tb_profiler.importers.flight_recorder.names import rank_of_dump
from torch_tb_profiler.importers.flight_recorder.values import list_of, text_of
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns, empty_table
from torch_tb_profiler.trace.info import Capability, JobInfo, NotRecorded, TraceInfo
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

FORMAT = "flight_recorder"
RECORDER = "torch.distributed's flight recorder"
MAX_ENTRIES = 200_000
"""The latest of them are read: torch keeps 2,000 unless TORCH_FR_BUFFER_SIZE is another."""

CALLS_ONLY = "a dump of the flight recorder holds calls of collectives, not a profile"

_NOT_RECORDED: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "kernels", "copies", "launches", "communication", "memory", "counters", "device_properties",
)  # fmt: skip


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a dump as a trace without events.

    Raises:
        TraceFormatError: it is damaged, no dump, or a pickle that would run something.
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a dump is a file"
    columns = EventColumns(
        format=FORMAT,
        tables={name: empty_table(name) for name in TABLE_COLUMNS},
        strings=[],
        tracks=[],
        base_ns=0,
        time_unit_ns=1,
    )
    document = read_document(source, lambda: reading.progress(source.taken_bytes), columns.quality)
    values, entries = document.values, DumpEntries()
    recorded = list_of(values.get("entries"))
    latest = recorded[-MAX_ENTRIES:]
    for number, entry in enumerate(latest):
        if source.is_full(number):
            break
        entries.add(entry)
    base_name = source.name.replace("\\", "/").rpartition("/")[2]
    rank = rank_of_dump(base_name)
    groups = entries.groups.frame(values)
    frame = entries.frame()
    if frame.is_empty() and groups.is_empty():
        raise TraceFormatError(
            "no_events", f"{source.name} is a dump of the flight recorder without any call.", HINT
        )
    dumps = pl.DataFrame(
        [
            (
                base_name,
                rank,
                text_of(values.get("version"), 20) or None,
                text_of(values.get("comm_lib_version", values.get("nccl_version")), 40) or None,
                _written_ns(source),
                frame.height,
                document.is_cut,
            )
        ],
        SIDE_SCHEMAS["flight_dumps"],
        orient="row",
    )
    frames = {
        "flight_dumps": dumps,
        "flight_groups": groups,
        "flight_calls": entries.calls_frame(),
        "flight_stacks": entries.stacks.frame(),
        "flight_entries": frame,
    }
    columns.side = tuple(SideTable(name, base_name, frames[name]) for name in frames)
    columns.info = TraceInfo(
        recorder=RECORDER,
        job=JobInfo(rank=rank),
        not_recorded=tuple(NotRecorded(each, CALLS_ONLY) for each in _NOT_RECORDED),
    )
    columns.quality.add("truncated", int(document.is_cut))
    columns.quality.add("side_row_left_out", entries.damaged)
    left_out = len(recorded) - len(latest) + entries.groups.left_out + entries.stacks.left_out
    columns.quality.add("entries_left_out", left_out)
    return columns


def _written_ns(source: Source) -> int | None:
    """When a local file was written, in nanoseconds since 1970."""
    try:
        return None if source.path is None else os.stat(source.path).st_mtime_ns
    except OSError:
        return None
