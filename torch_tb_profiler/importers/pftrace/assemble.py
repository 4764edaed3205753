"""Merged pieces → :class:`EventColumns`: everything that needs the whole file."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.batch import MEMORY_NAMES, UNNAMED
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.named_arguments import add_node_numbers
from torch_tb_profiler.importers.kineto.uncategorized import assign_missing_categories
from torch_tb_profiler.importers.pftrace.categories import (
    assign_row_categories,
    assign_stage_categories,
    categories,
)
from torch_tb_profiler.importers.pftrace.counter_values import absolute_values, name_counters
from torch_tb_profiler.importers.pftrace.details import (
    KINDS,
    detail_table,
    named_arguments,
    slice_column,
)
from torch_tb_profiler.importers.pftrace.devices import label_device_rows
from torch_tb_profiler.importers.pftrace.launches import launches
from torch_tb_profiler.importers.pftrace.merge import PacketBatchMerger
from torch_tb_profiler.importers.pftrace.not_recorded import not_recorded, recorder_of
from torch_tb_profiler.importers.pftrace.pairing import durations
from torch_tb_profiler.importers.pftrace.requested import in_rows
from torch_tb_profiler.importers.pftrace.tracks import TrackTable
from torch_tb_profiler.importers.slice_arguments import add_arguments
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    EPOCH_NS,
    TABLE_COLUMNS,
    Bools,
    ColumnArrays,
    EventColumns,
    Int8,
    Int64,
    empty_table,
)
from torch_tb_profiler.trace.info import TraceInfo
from torch_tb_profiler.trace.quality import QualityReport

TIMED = ("slices", "ends", "instants", "counters")
UNREAD_EVENTS = ("event_without_time", "state_lost", "unknown_phase")
"""Issues by which events are in none of the tables."""


def assemble(merger: PacketBatchMerger, *, python_frames: bool) -> EventColumns:
    """Build the event columns of a file.

    Args:
        merger: The merged pieces.
        python_frames: Whether Python frames and modules are read; otherwise they are only counted.
    """
    raw = {name: merger.table(name) for name in (*TIMED, "flows", "submissions")}
    rows = TrackTable(list(merger.tracks), merger.descriptors)
    base_ns = _rebase(merger, raw)
    slices, row_of = _in_order(raw["slices"], raw["ends"], merger)
    descriptors = [merger.descriptor_of(key) for key in merger.tracks]
    raw["counters"]["value"] = absolute_values(raw["counters"], descriptors)
    name_counters(raw["counters"], descriptors, merger.strings)
    # Only now: sibling tracks share a row, but a begin and its end share a track.
    index = np.array([*rows.index, -1], np.int32)
    for shown in (slices, raw["instants"], raw["counters"]):
        shown["track"] = index[shown["track"]]
    assign_stage_categories(slices["raw_category_code"], slices["stage_code"], merger.strings)
    assign_row_categories(slices["raw_category_code"], slices["track"], rows.tracks, merger.strings)
    _add_missing_names(slices, raw, merger)
    category, kind = categories(slices["raw_category_code"], list(merger.strings))
    is_dropped = (kind == EventKind.INSTANT) | _unread_frames(kind, merger, python_frames)
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    _read_instants(tables, slices, kind == EventKind.INSTANT, row_of, merger)
    slices, new_row = _without(slices, is_dropped)
    category, kind = category[~is_dropped], kind[~is_dropped]
    row_of = _renumbered(row_of, new_row)
    named = list(named_arguments(merger.columns, row_of, slices, kind, merger.strings))
    named += [in_rows(table, row_of) for table in merger.arguments]
    for table in KINDS:
        if table != "memory":
            tables[table] = detail_table(merger.columns, table, row_of, kind)
    tables["slices"] = _columns(slices, category, merger, row_of)
    _add_instants(tables, raw)
    tables["counters"] = {name: raw["counters"][name] for name in TABLE_COLUMNS["counters"]}
    modules = tables["python"]["slice"][tables["python"]["module_id"] != ABSENT]
    tables["slices"]["category"][modules] = Category.MODULE
    strings = list(merger.strings)
    assign_missing_categories(tables, strings, rows.tracks, None, merger.quality)
    refine(tables["slices"]["category"], tables["slices"]["name_code"], strings)
    label_device_rows(tables, rows.tracks, merger.quality)
    _report_left_out(merger.quality, sum(raw[name]["track"].size for name in TIMED))
    recorder = recorder_of(merger.strings)
    launch = launches(raw, row_of, slices["event_id"], tables["slices"])
    columns = EventColumns(
        format="pftrace",
        tables=tables,
        strings=strings,
        tracks=rows.tracks,
        base_ns=base_ns,
        time_unit_ns=1,
        info=TraceInfo(recorder=recorder, not_recorded=not_recorded(tables, recorder)),
        quality=merger.quality,
        launch=launch,
    )
    add_arguments(columns, named)
    add_node_numbers(columns)
    return columns


def _report_left_out(quality: QualityReport, events: int) -> None:
    """Report the share of the file that was left out, if it is notable.

    Args:
        quality: The problems of the file.
        events: Number of events that were read, begins and ends apart.
    """
    unread = sum(quality.counts.get(code, 0) for code in UNREAD_EVENTS)
    quality.add_left_out(unread + quality.counts.get("unmatched_end", 0), unread + events)


def _unread_frames(kind: Int8, merger: PacketBatchMerger, python_frames: bool) -> Bools:
    """Python frames if they are not read; they are counted."""
    frames: Bools = (kind == EventKind.PYTHON_SLICE) & (not python_frames)
    merger.quality.add("python_frames_left_out", int(frames.sum()))
    return frames


def _rebase(merger: PacketBatchMerger, raw: dict[str, ColumnArrays]) -> int:
    """Make times relative to a base; return it in nanoseconds since the epoch, 0 without one.

    The base is the first clock snapshot, which PyTorch takes at the base of its JSON; without one
    it is the second of the first event, if times are epoch times.
    """
    clocks = merger.clocks
    times = [raw[name]["time_ns"] for name in TIMED]
    first = min((int(part.min()) for part in times if part.size), default=0)
    if clocks.start_ns is not None and clocks.epoch_ns is not None:
        start, base_ns = clocks.start_ns, clocks.epoch_ns
    elif first > EPOCH_NS:
        start = base_ns = first // 10**9 * 10**9
    else:
        start = base_ns = 0
    for name in TIMED:
        raw[name]["time_ns"] -= start
    return base_ns


def _in_order(
    slices: ColumnArrays, ends: ColumnArrays, merger: PacketBatchMerger
) -> tuple[ColumnArrays, Int64]:
    """The slices in order of packets, with durations; and the new row of each old one."""
    order = np.argsort(slices["packet"], kind="stable")
    slices = {name: values[order] for name, values in slices.items()}
    row_of = np.empty(order.size, np.int64)
    row_of[order] = np.arange(order.size)
    is_open = slices["dur_ns"] == ABSENT
    begins = {name: slices[name][is_open] for name in ("packet", "time_ns", "track")}
    slices["dur_ns"][is_open] = durations(begins, ends, merger.quality)
    return slices, row_of


def _add_missing_names(
    slices: ColumnArrays, raw: dict[str, ColumnArrays], merger: PacketBatchMerger
) -> None:
    for table in (slices, raw["instants"]):
        missing = table["name_code"] < 0
        if missing.any():
            merger.quality.add("missing_name", int(missing.sum()))
            table["name_code"][missing] = merger.strings[UNNAMED]


def _without(slices: ColumnArrays, is_dropped: Bools) -> tuple[ColumnArrays, Int64]:
    """The slices without some, and the new row of each old one (-1 for none)."""
    row = np.where(is_dropped, -1, np.cumsum(~is_dropped) - 1)
    return {name: values[~is_dropped] for name, values in slices.items()}, row


def _renumbered(row_of: Int64, new_row: Int64) -> Int64:
    """Rows before :func:`_without` → rows after it."""
    if not new_row.size:
        return row_of
    rows: Int64 = np.where(row_of < 0, -1, new_row[row_of])
    return rows


def _read_instants(
    tables: dict[str, ColumnArrays],
    slices: ColumnArrays,
    is_instant: Bools,
    row_of: Int64,
    merger: PacketBatchMerger,
) -> None:
    """Read the slices that are instants: memory events by their names, and others."""
    names = [merger.strings.get(name, -2) for name in MEMORY_NAMES]
    is_memory = is_instant & np.isin(slices["name_code"], names)
    others = is_instant & ~is_memory
    tables["instants"] = {
        "track": slices["track"][others],
        "name_code": slices["name_code"][others],
        "time_ns": slices["time_ns"][others],
    }
    if not is_memory.any():
        return
    rows = np.flatnonzero(is_memory)
    memory = {
        column: slice_column(merger.columns, "memory", column, row_of, is_instant.size)[rows]
        for column in TABLE_COLUMNS["memory"]
        if column not in ("track", "time_ns", "is_oom")
    }
    memory["track"] = slices["track"][rows]
    memory["time_ns"] = slices["time_ns"][rows]
    memory["is_oom"] = (slices["name_code"][rows] == names[1]).astype(np.int8)
    tables["memory"] = {column: memory[column] for column in TABLE_COLUMNS["memory"]}


def _columns(
    slices: ColumnArrays, category: Int8, merger: PacketBatchMerger, row_of: Int64
) -> ColumnArrays:
    size = category.size
    return {
        "category": category,
        "raw_category_code": slices["raw_category_code"],
        "name_code": slices["name_code"],
        "track": slices["track"],
        "start_ns": slices["time_ns"],
        "dur_ns": slices["dur_ns"],
        **{
            column: slice_column(merger.columns, "slices", column, row_of, size)
            for column in ("correlation", "external_id")
        },
    }


def _add_instants(tables: dict[str, ColumnArrays], raw: dict[str, ColumnArrays]) -> None:
    from_slices = tables["instants"]
    tables["instants"] = {
        column: np.concatenate([from_slices[column], raw["instants"][column]])
        for column in from_slices
    }
