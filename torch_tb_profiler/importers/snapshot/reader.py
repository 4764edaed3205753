"""Reads a memory snapshot: allocator events as memory events, everything else as side tables."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import polars as pl

from torch_tb_profiler.budget import Budget
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.plain_pickle.reading import read_pickle
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.snapshot.annotations import annotation_slices
from torch_tb_profiler.importers.snapshot.events import DeviceEvents, events_of, memory_table
from torch_tb_profiler.importers.snapshot.machine import SnapshotMachine
from torch_tb_profiler.importers.snapshot.metadata import MAX_TEXTS
from torch_tb_profiler.importers.snapshot.segments import MAX_DEVICE, segment_rows
from torch_tb_profiler.importers.snapshot.tables import settings_frame, stacks_frame
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import TABLE_COLUMNS, EventColumns, Track, empty_table
from torch_tb_profiler.trace.info import Capability, NotRecorded, TraceInfo
from torch_tb_profiler.trace.side_tables import SideTable

FORMAT = "snapshot"
RECORDER = "torch.cuda.memory._dump_snapshot"
NPU_RECORDER = "torch_npu.npu.memory._dump_snapshot"
_OF_TORCH_NPU = re.compile(r"[/\\]torch_npu[/\\]")
"""In the path of a file of torch_npu: it calls itself torch.cuda where it says what it is."""

HOST = -1
"""Device number of pinned host memory."""

CONTENTS = ("segments", "device_traces", "host_segments", "host_traces")
"""Lists of a snapshot; one of a program that used no device has those of the host alone."""

MEMORY_ONLY = "a memory snapshot records memory, not execution"
HOW_TO_RECORD = "Memory snapshots are written by torch.cuda.memory._dump_snapshot(PATH)."

_NOT_RECORDED: tuple[Capability, ...] = (
    "operators", "input_shapes", "input_types", "call_stacks", "python", "modules", "runtime",
    "kernels", "copies", "launches", "communication", "counters", "device_properties",
)  # fmt: skip


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read a snapshot as a trace.

    Raises:
        TraceFormatError: it is not a snapshot, or a pickle that would run something.
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a snapshot is a file"
    with closing(source.unpacked()) as chunks:
        window = StreamWindow(chunks)
        machine = SnapshotMachine(
            window,
            lambda: reading.progress(source.taken_bytes),
            lambda: source.budget,
        )
        whole, is_cut = read_pickle(machine, source, "A memory snapshot")
    snapshot = _snapshot_of(whole, source.name)
    columns = _columns(snapshot, machine, source.budget)
    columns.quality.add("truncated", int(is_cut))
    return columns


def _snapshot_of(whole: Any, name: str) -> dict[str, Any]:
    """The snapshot in its current layout; old ones, and ``memory_snapshot()``, have only
    segments."""
    if isinstance(whole, list) and whole and all(isinstance(each, dict) for each in whole):
        whole = {"segments": whole}
    if isinstance(whole, dict) and isinstance(whole.get("segments"), list):
        if not any(any(_list(whole, key)) for key in CONTENTS):
            message = f"{name} is a memory snapshot without any memory or events."
            raise TraceFormatError("no_events", message, HOW_TO_RECORD)
        first = next(iter(whole["segments"]), {"total_size": 0})
        if isinstance(first, dict) and "total_size" in first:
            return whole
    raise TraceFormatError(
        "not_a_snapshot", f"{name} is a pickle, but not a memory snapshot.", HOW_TO_RECORD
    )


def _columns(snapshot: dict[str, Any], machine: SnapshotMachine, budget: Budget) -> EventColumns:
    entries = machine.entries.finish()
    stacks = machine.entries.stacks
    rows = segment_rows(_list(snapshot, "segments"), stacks)
    rows += segment_rows(_list(snapshot, "host_segments"), stacks, device=HOST)
    traces = dict(enumerate(_unique_traces(_list(snapshot, "device_traces")[:MAX_DEVICE])))
    host = _list(snapshot, "host_traces")
    traces[HOST] = [run for each in host for run in (each if isinstance(each, list) else [each])]
    segments, blocks = rows.frames()
    events, base_ns, blocks = events_of(traces, entries, segments, blocks)
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    tables["memory"] = memory_table(events)
    strings: list[str] = []
    tracks = _tracks(events)
    most, annotations = budget.count("annotations"), _list(snapshot, "external_annotations")
    left_out, annotations = max(0, len(annotations) - most), annotations[:most]
    tables["slices"] = annotation_slices(annotations, events, base_ns, strings, len(tracks))
    if len(tables["slices"]["name_code"]):
        tracks.append(Track("0", "annotations", "Program", thread_name="annotations"))
    is_of_npu = any(_OF_TORCH_NPU.search(file) for _, file, _ in stacks.frames)
    columns = EventColumns(
        format=FORMAT,
        tables=tables,
        strings=strings,
        tracks=tracks,
        base_ns=base_ns,
        time_unit_ns=1000,
        info=TraceInfo(
            recorder=NPU_RECORDER if is_of_npu else RECORDER,
            not_recorded=tuple(
                NotRecorded(capability=capability, reason=MEMORY_ONLY)
                for capability in _NOT_RECORDED
            ),
        ),
    )
    frames: dict[str, pl.DataFrame] = {
        "snapshot_segments": segments,
        "snapshot_blocks": blocks,
        "snapshot_events": events.frame,
        "snapshot_stacks": stacks_frame(stacks, budget, columns.quality),
        "snapshot_metadata": machine.entries.metadata.frame(events.entries, len(entries.action)),
        "snapshot_settings": settings_frame(snapshot.get("allocator_settings")),
    }
    columns.side = tuple(SideTable(name, "the snapshot", frames[name]) for name in frames)
    columns.quality.add("snapshot_without_times", int(not events.has_times and events.size > 0))
    columns.quality.add("snapshot_blocks_missing", events.lifted)
    columns.quality.add("entries_left_out", left_out, budget.described("annotations"))
    left_out = machine.entries.metadata.left_out
    columns.quality.add("entries_left_out", left_out, f"limit: {MAX_TEXTS:,} distinct metadata")
    example = budget.described("memory_stacks")
    columns.quality.add("snapshot_stacks_left_out", stacks.left_out, example)
    return columns


def _tracks(events: DeviceEvents) -> list[Track]:
    return [
        Track("0", str(device), "Allocator", thread_name=_device_name(device))
        for device in events.devices
    ]


def _device_name(device: int) -> str:
    return "pinned memory of the host" if device == HOST else f"GPU {device}"


def _unique_traces(traces: list[Any]) -> list[Any]:
    """The traces of all devices; a list that a hostile file repeats counts only for the first."""
    first: dict[int, int] = {}
    for device, trace in enumerate(traces):
        first.setdefault(id(trace), device)
    return [trace if first[id(trace)] == at else [] for at, trace in enumerate(traces)]


def _list(snapshot: dict[str, Any], key: str) -> list[Any]:
    value = snapshot.get(key)
    return value if isinstance(value, list) else []
