"""Joined batches → :class:`EventColumns`: what only the whole file can tell."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.importers.durations import sanitize_durations
from torch_tb_profiler.importers.kineto.batch import TASKS, UNNAMED
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.dialects import dialect_of, rename
from torch_tb_profiler.importers.kineto.info import trace_info
from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN, EventBatchMerger
from torch_tb_profiler.importers.kineto.pairing import pair_begin_end
from torch_tb_profiler.importers.kineto.tracks import build_tracks, merge_rows
from torch_tb_profiler.importers.kineto.uncategorized import DEVICE_ROW, assign_missing_categories
from torch_tb_profiler.importers.recorder import JOURNAL_KEY
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES
from torch_tb_profiler.trace.columns import (
    ABSENT,
    DEVICE_LABEL,
    EPOCH_NS,
    TABLE_COLUMNS,
    ColumnArrays,
    EventColumns,
    Track,
)
from torch_tb_profiler.trace.limits import MAX_DEVICES
from torch_tb_profiler.trace.quality import QualityReport

TRACK_NUMBER = re.compile(r"(?:stream )?(\d{1,9})")


def assemble(
    merger: EventBatchMerger, header: dict[str, Any], dialect: Dialect | None = None
) -> EventColumns:
    """Everything of the file, in the form that the trace builder takes.

    Args:
        merger: What was read.
        header: As :func:`~torch_tb_profiler.importers.kineto.header_types.typed_header` gives it.
        dialect: What the file is written in; None: what it holds tells.
    """
    quality = merger.quality
    tables = {name: merger.table(name) for name in TABLE_COLUMNS}
    strings = list(merger.strings)
    own = merger.own_tables((TASKS, *(() if dialect is None else dialect.own_tables)))
    tables |= own
    if np.any(tables["slices"][PHASE_COLUMN] != 0):
        pair_begin_end(tables, merger.strings.get(UNNAMED, -1), quality)
    del tables["slices"][PHASE_COLUMN]
    tracks = build_tracks(list(merger.tracks), merger.declared)
    tables["slices"] = slices = _complete(tables["slices"])
    dialect = dialect or dialect_of(header, tracks, quality)
    has_ticks = dialect is not None and dialect.start_key is not None
    if dialect is not None:
        if dialect.renamed is not None:
            rename(slices, strings, dialect.renamed)
        if dialect.thread is not None:
            tracks = merge_rows(tables, tracks, dialect.thread)
    assign_missing_categories(tables, strings, tracks, dialect, quality)
    refine(slices["category"], slices["name_code"], strings)
    _fill_devices(tables, tracks)
    sanitize_device_numbers(tables, quality)
    info = trace_info(header)
    if dialect is not None:
        info = msgspec.structs.replace(info, recorder=dialect.recorder)
    base_ns = _rebase(tables, header)
    sanitize_durations(tables["slices"], quality)
    assert set(slices) == set(TABLE_COLUMNS["slices"])
    others = {name: tables.pop(name) for name in own}
    columns = EventColumns(
        format="kineto" if dialect is None else dialect.format,
        tables=tables,
        strings=strings,
        tracks=tracks,
        base_ns=base_ns,
        time_unit_ns=1 if merger.has_fraction and not has_ticks else 1000,
        info=info,
        quality=quality,
    )
    if dialect is not None and dialect.settle is not None:
        dialect.settle(columns, others)
    if JOURNAL_KEY in header:
        from torch_tb_profiler.importers.recorder.join import join_journal  # noqa: PLC0415 - start-up

        join_journal(columns, header[JOURNAL_KEY])
    return columns


def _complete(slices: ColumnArrays) -> ColumnArrays:
    return {name: slices[name] for name in TABLE_COLUMNS["slices"]}


def _fill_devices(tables: dict[str, ColumnArrays], tracks: list[Track]) -> None:
    """Device and stream from the row of a kernel or copy whose arguments do not give them.

    Kineto's rule: the process of a device event is its device, the thread its stream.
    """
    slices, device = tables["slices"], tables["device"]
    is_work = np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    lacks = is_work.copy()
    lacks[device["slice"]] = False
    without = np.flatnonzero(lacks)
    if without.size:
        added = {
            name: np.full(without.size, _absent(dtype), dtype)
            for name, dtype in TABLE_COLUMNS["device"].items()
        }
        added["slice"] = without
        order = np.argsort(np.concatenate([device["slice"], without]), kind="stable")
        device = {name: np.concatenate([device[name], added[name]])[order] for name in added}
        tables["device"] = device
    is_of_work = is_work[device["slice"]]
    track = slices["track"][device["slice"]]
    of_tracks = {
        "device": [_device_number(track) for track in tracks],
        "stream": [_number(track.tid) for track in tracks],
    }
    for column, values in of_tracks.items():
        numbers = np.array(values, np.int64)
        gap = is_of_work & (device[column] == ABSENT)
        device[column][gap] = numbers[track[gap]]


def sanitize_device_numbers(tables: dict[str, ColumnArrays], quality: QualityReport) -> None:
    """No number of a device, or of a type of device, is absurd."""
    for table, column in (("device", "device"), ("memory", "device"), ("memory", "device_type")):
        values = tables[table][column]
        absurd = (np.abs(values) >= MAX_DEVICES) & (values != ABSENT)
        quality.add("device_out_of_range", int(absurd.sum()))
        values[absurd] = ABSENT


def _device_number(track: Track) -> int:
    """The number in the label, else that of the process. Where the label names a device without a
    number, the file is that of one device, and the process is some number of its own.
    """
    label = track.process_label or ""
    numbered = DEVICE_LABEL.match(label)
    if numbered is None and DEVICE_ROW.match(label):
        return 0
    return _number(numbered[1] if numbered else track.pid)


def _number(text: str) -> int:
    match = TRACK_NUMBER.fullmatch(text.strip())
    return int(match[1]) if match else ABSENT


def _absent(dtype: type[np.generic]) -> float | int:
    if dtype is np.int64:
        return ABSENT
    return float("nan") if dtype is np.float64 else -1


def _rebase(tables: dict[str, ColumnArrays], header: dict[str, Any]) -> int:
    """Make times count from the base; return its epoch nanoseconds, 0 when there is none.

    Files without ``baseTimeNanoseconds`` that write epoch times get the second of their first
    slice as base, so that times stay small enough for a double of microseconds.
    """
    base = header.get("baseTimeNanoseconds")
    base_ns = base if isinstance(base, int) and 0 <= base < 2**63 else 0
    columns = [
        (tables[name], column)
        for name in tables
        for column in ("start_ns", "time_ns")
        if column in tables[name]
    ]
    times = np.concatenate([table[column] for table, column in columns])
    epoch = times[times > EPOCH_NS]
    if epoch.size * 2 <= times.size or not epoch.size:
        return base_ns
    base_ns = int(epoch.min()) // 10**9 * 10**9
    for table, column in columns:
        table[column] = table[column] - base_ns
    return base_ns
