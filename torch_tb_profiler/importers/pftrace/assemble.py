"""What was read of all pieces → :class:`EventColumns`: what only the whole file can tell."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.batch import MEMORY_NAMES, UNNAMED
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.uncategorized import assign_missing_categories
from torch_tb_profiler.importers.pftrace.categories import (
    categories,
    words_of_rows,
    words_of_stages,
)
from torch_tb_profiler.importers.pftrace.details import KINDS, detail_table, whole_column
from torch_tb_profiler.importers.pftrace.devices import settle_device_rows
from torch_tb_profiler.importers.pftrace.launches import launches
from torch_tb_profiler.importers.pftrace.merge import PacketBatchMerger
from torch_tb_profiler.importers.pftrace.not_recorded import not_recorded, recorder_of
from torch_tb_profiler.importers.pftrace.pairing import durations
from torch_tb_profiler.importers.pftrace.tracks import RowsOfTrace
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

TIMED = ("slices", "ends", "instants", "counters")


def assemble(merger: PacketBatchMerger, *, python_frames: bool) -> EventColumns:
    """Everything of the file, in the form that the trace builder takes.

    Args:
        merger: What was read.
        python_frames: Whether python frames and modules are wanted; else they are counted only.
    """
    raw = {name: merger.table(name) for name in (*TIMED, "flows", "submissions")}
    rows = RowsOfTrace(list(merger.tracks), merger.descriptors)
    index = np.array([*rows.index, -1], np.int32)
    for name in TIMED:
        raw[name]["track"] = index[raw[name]["track"]]
    base_ns = _rebase(merger, raw)
    slices, row_of = _in_order(raw["slices"], raw["ends"], merger)
    words_of_stages(slices["word_code"], slices["stage_code"], merger.strings)
    words_of_rows(slices["word_code"], slices["track"], rows.tracks, merger.strings)
    _name(slices, raw, merger)
    category, kind = categories(slices["word_code"], list(merger.strings))
    is_left_out = (kind == EventKind.INSTANT) | _frames(kind, merger, python_frames)
    tables = {name: empty_table(name) for name in TABLE_COLUMNS}
    _moments(tables, slices, kind == EventKind.INSTANT, row_of, merger)
    slices, kept_row = _without(slices, is_left_out)
    category, kind = category[~is_left_out], kind[~is_left_out]
    row_of = _through(row_of, kept_row)
    for table in KINDS:
        if table != "memory":
            tables[table] = detail_table(merger.columns, table, row_of, kind)
    tables["slices"] = _columns(slices, category, merger, row_of)
    _add_moments(tables, raw)
    tables["counters"] = _counters(raw["counters"], merger, rows)
    modules = tables["python"]["slice"][tables["python"]["module_id"] != ABSENT]
    tables["slices"]["category"][modules] = Category.MODULE
    strings = list(merger.strings)
    assign_missing_categories(tables, strings, rows.tracks, None, merger.quality)
    refine(tables["slices"]["category"], tables["slices"]["name_code"], strings)
    settle_device_rows(tables, rows.tracks, merger.quality)
    recorder = recorder_of(merger.strings)
    launch = launches(raw, row_of, slices["event_id"], tables["slices"])
    return EventColumns(
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


def _frames(kind: Int8, merger: PacketBatchMerger, python_frames: bool) -> Bools:
    """Python frames, where they are not wanted; they are counted."""
    frames: Bools = (kind == EventKind.PYTHON_SLICE) & (not python_frames)
    merger.quality.add("python_frames_left_out", int(frames.sum()))
    return frames


def _rebase(merger: PacketBatchMerger, raw: dict[str, ColumnArrays]) -> int:
    """Make times count from the base; return its epoch nanoseconds, 0 when there is none.

    The base is the first snapshot of the clocks, which PyTorch takes of the base of its JSON;
    without one the second of the first slice, if times are since 1970.
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
    """The slices in order of their packets, with durations; and the new row of each old one."""
    order = np.argsort(slices["packet"], kind="stable")
    slices = {name: values[order] for name, values in slices.items()}
    row_of = np.empty(order.size, np.int64)
    row_of[order] = np.arange(order.size)
    is_open = slices["dur_ns"] == ABSENT
    begins = {name: slices[name][is_open] for name in ("packet", "time_ns", "track")}
    slices["dur_ns"][is_open] = durations(begins, ends, merger.quality)
    return slices, row_of


def _name(slices: ColumnArrays, raw: dict[str, ColumnArrays], merger: PacketBatchMerger) -> None:
    for table in (slices, raw["instants"]):
        missing = table["name_code"] < 0
        if missing.any():
            merger.quality.add("missing_name", int(missing.sum()))
            table["name_code"][missing] = merger.strings[UNNAMED]


def _without(slices: ColumnArrays, gone: Bools) -> tuple[ColumnArrays, Int64]:
    """The slices but for some, and the new row of each old one (-1 for none)."""
    row = np.where(gone, -1, np.cumsum(~gone) - 1)
    return {name: values[~gone] for name, values in slices.items()}, row


def _through(row_of: Int64, then: Int64) -> Int64:
    if not then.size:
        return row_of
    moved: Int64 = np.where(row_of < 0, -1, then[row_of])
    return moved


def _moments(
    tables: dict[str, ColumnArrays],
    slices: ColumnArrays,
    is_moment: Bools,
    row_of: Int64,
    merger: PacketBatchMerger,
) -> None:
    """Slices that are moments: those of memory by their names, the others as instants."""
    names = [merger.strings.get(name, -2) for name in MEMORY_NAMES]
    is_memory = is_moment & np.isin(slices["name_code"], names)
    others = is_moment & ~is_memory
    tables["instants"] = {
        "track": slices["track"][others],
        "name_code": slices["name_code"][others],
        "time_ns": slices["time_ns"][others],
    }
    if not is_memory.any():
        return
    rows = np.flatnonzero(is_memory)
    memory = {
        column: whole_column(merger.columns, "memory", column, row_of, is_moment.size)[rows]
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
        "raw_category_code": slices["word_code"],
        "name_code": slices["name_code"],
        "track": slices["track"],
        "start_ns": slices["time_ns"],
        "dur_ns": slices["dur_ns"],
        **{
            column: whole_column(merger.columns, "slices", column, row_of, size)
            for column in ("correlation", "external_id")
        },
    }


def _add_moments(tables: dict[str, ColumnArrays], raw: dict[str, ColumnArrays]) -> None:
    given = tables["instants"]
    tables["instants"] = {
        column: np.concatenate([given[column], raw["instants"][column]]) for column in given
    }


def _counters(table: ColumnArrays, merger: PacketBatchMerger, rows: RowsOfTrace) -> ColumnArrays:
    """Counters with the names of their tracks, where they have none of their own."""
    name, series = table["name_code"], table["series_code"]
    nameless = np.flatnonzero(name < 0)
    for number in np.unique(table["track"][nameless]).tolist():
        some = nameless[table["track"][nameless] == number]
        name[some] = merger.strings[rows.tracks[number].thread_name or UNNAMED]
        series[some] = merger.strings[""]
    return {column: table[column] for column in TABLE_COLUMNS["counters"]}
