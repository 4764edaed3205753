"""Merged batches → :class:`EventColumns`: everything that needs the whole file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.importers.ascend.dialect import DIALECT as ASCEND
from torch_tb_profiler.importers.durations import sanitize_durations
from torch_tb_profiler.importers.kineto.batch import TASKS, UNNAMED
from torch_tb_profiler.importers.kineto.categories import refine
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.info import trace_info
from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN, EventBatchMerger
from torch_tb_profiler.importers.kineto.named_arguments import add_node_numbers
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

DETECTED_DIALECTS: tuple[Dialect, ...] = (ASCEND,)
"""Dialects that are detected by the content of a file."""

TRACK_NUMBER = re.compile(r"(?:stream )?(\d{1,9})")


def assemble(
    merger: EventBatchMerger, header: dict[str, Any], dialect: Dialect | None = None
) -> EventColumns:
    """Build the event columns of a file.

    Args:
        merger: The merged batches.
        header: From :func:`~torch_tb_profiler.importers.kineto.header_types.typed_header`.
        dialect: The dialect of the file; None to detect it.
    """
    quality = merger.quality
    tables = {name: merger.table(name) for name in TABLE_COLUMNS}
    strings = list(merger.strings)
    extra = merger.extra_tables((TASKS, *(() if dialect is None else dialect.extra_tables)))
    tables |= extra
    if np.any(tables["slices"][PHASE_COLUMN] != 0):
        pair_begin_end(tables, merger.strings.get(UNNAMED, -1), quality)
    del tables["slices"][PHASE_COLUMN]
    tracks = build_tracks(list(merger.tracks), merger.declared)
    tables["slices"] = slices = _complete(tables["slices"])
    dialect = dialect or detect_dialect(header, tracks, quality)
    has_exact_starts = dialect is not None and dialect.exact_start_key is not None
    if dialect is not None:
        if dialect.rename is not None:
            _rename_slices(slices, strings, dialect.rename)
        if dialect.thread_of is not None:
            tracks = merge_rows(tables, tracks, dialect.thread_of)
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
    extra_tables = {name: tables.pop(name) for name in extra}
    columns = EventColumns(
        format="kineto" if dialect is None else dialect.format,
        tables=tables,
        strings=strings,
        tracks=tracks,
        base_ns=base_ns,
        time_unit_ns=1 if merger.has_fraction and not has_exact_starts else 1000,
        info=info,
        quality=quality,
    )
    add_node_numbers(columns)
    if dialect is not None and dialect.finalize is not None:
        dialect.finalize(columns, extra_tables)
    if JOURNAL_KEY in header:
        from torch_tb_profiler.importers.recorder.join import join_journal  # noqa: PLC0415 - start-up

        join_journal(columns, header[JOURNAL_KEY])
    return columns


def detect_dialect(
    header: Mapping[str, Any], tracks: Sequence[Track], quality: QualityReport
) -> Dialect | None:
    """The dialect of a file, which is counted in ``quality``; None for PyTorch's own."""
    dialect = next((each for each in DETECTED_DIALECTS if each.matches(header, tracks)), None)
    if dialect is not None and dialect.issue is not None:
        quality.add(dialect.issue)
    return dialect


def _rename_slices(
    slices: ColumnArrays, strings: list[str], normalize: Callable[[str], str]
) -> None:
    """Normalize the names of slices in place; names that become equal share a code."""
    first: dict[str, int] = {}
    code = np.arange(len(strings) + 1, dtype=np.int32)
    code[-1] = -1
    for old in np.unique(slices["name_code"]).tolist():
        if old >= 0:
            name = normalize(strings[old])
            code[old] = first.setdefault(name, old)
            strings[old] = name
    slices["name_code"] = code[slices["name_code"]]


def _complete(slices: ColumnArrays) -> ColumnArrays:
    return {name: slices[name] for name in TABLE_COLUMNS["slices"]}


def _fill_devices(tables: dict[str, ColumnArrays], tracks: list[Track]) -> None:
    """Add device and stream to work whose arguments lack them, by its row.

    Kineto's rule: the process of a device event is its device, the thread its stream.
    """
    slices, device = tables["slices"], tables["device"]
    is_work = np.isin(slices["category"], [int(c) for c in DEVICE_WORK_CATEGORIES])
    is_missing = is_work.copy()
    is_missing[device["slice"]] = False
    missing = np.flatnonzero(is_missing)
    if missing.size:
        added = {
            name: np.full(missing.size, _absent(dtype), dtype)
            for name, dtype in TABLE_COLUMNS["device"].items()
        }
        added["slice"] = missing
        order = np.argsort(np.concatenate([device["slice"], missing]), kind="stable")
        device = {name: np.concatenate([device[name], added[name]])[order] for name in added}
        tables["device"] = device
    is_of_work = is_work[device["slice"]]
    track = slices["track"][device["slice"]]
    by_track = {
        "device": [_device_number(track) for track in tracks],
        "stream": [_number(track.tid) for track in tracks],
    }
    for column, values in by_track.items():
        numbers = np.array(values, np.int64)
        gap = is_of_work & (device[column] == ABSENT)
        device[column][gap] = numbers[track[gap]]


def sanitize_device_numbers(tables: dict[str, ColumnArrays], quality: QualityReport) -> None:
    """Remove implausible device numbers and device types, in place."""
    for table, column in (("device", "device"), ("memory", "device"), ("memory", "device_type")):
        values = tables[table][column]
        is_implausible = (np.abs(values) >= MAX_DEVICES) & (values != ABSENT)
        quality.add("device_out_of_range", int(is_implausible.sum()))
        values[is_implausible] = ABSENT


def _device_number(track: Track) -> int:
    """The device number in the label of the process, else the number of the process.

    A label of a device without a number means that the file has one device; then the process is
    some unrelated number.
    """
    label = track.process_label or ""
    match = DEVICE_LABEL.match(label)
    if match is None and DEVICE_ROW.match(label):
        return 0
    return _number(match[1] if match else track.pid)


def _number(text: str) -> int:
    match = TRACK_NUMBER.fullmatch(text.strip())
    return int(match[1]) if match else ABSENT


def _absent(dtype: type[np.generic]) -> float | int:
    if dtype is np.int64:
        return ABSENT
    return float("nan") if dtype is np.float64 else -1


def _rebase(tables: dict[str, ColumnArrays], header: dict[str, Any]) -> int:
    """Make times relative to a base; return it in nanoseconds since the epoch, 0 without one.

    In files without ``baseTimeNanoseconds`` that have epoch times, the base is the second of the
    first slice, so that times stay small enough for microseconds in a double.
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
