"""The tables of tracks (host threads, device streams) and of devices."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.columns import (
    ABSENT,
    COUNTER_PROCESS,
    DEVICE_LABEL,
    Bools,
    ColumnArrays,
    EventColumns,
    Int32,
    Int64,
    Track,
)
from torch_tb_profiler.trace.constant_columns import neighbours
from torch_tb_profiler.trace.info import DeviceInfo
from torch_tb_profiler.trace.limits import MAX_DEVICES
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import DEVICES, TRACKS
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport


def build_tracks(events: EventColumns, slices: OrderedSlices) -> pl.DataFrame:
    """One row per track; device tracks get their device and stream from their slices' arguments,
    else from the process label and the thread id, tracks of a device's counters its number."""
    count = len(events.tracks)
    is_device = np.zeros(count, np.bool_)
    is_device[slices.track[slices.ids_of(DEVICE_CATEGORIES)]] = True
    details = events.tables["device"]
    where = slices.track[slices.new_id[details["slice"]]]
    device = _first_per_track(count, where, details["device"])
    stream = _first_per_track(count, where, details["stream"])
    has_counters = np.zeros(count, np.bool_)
    has_counters[events.tables["counters"]["track"]] = True
    position = _display_positions(events.tracks, is_device)
    process = slices.process_of_track.tolist()
    rows = [
        (
            index,
            track.pid,
            track.tid,
            track.process_name,
            track.process_label,
            track.thread_name,
            None if process[index] == NO_PROCESS else process[index],
            bool(is_device[index]),
            _given_or(device[index], _device_of(track))
            if is_device[index]
            else (_counter_device(track) if has_counters[index] else None),
            _given_or(stream[index], _integer(track.tid)) if is_device[index] else None,
            position[index],
        )
        for index, track in enumerate(events.tracks)
    ]
    return pl.DataFrame(rows, schema=TRACKS, orient="row")


def _display_positions(tracks: list[Track], is_device: Bools) -> list[int]:
    """Per track its position from top to bottom: by the sort indices of the file, hosts before
    devices where it has none, then by process and thread number."""

    def key(index: int) -> tuple[object, ...]:
        track = tracks[index]
        process, thread = track.process_sort_index, track.thread_sort_index
        pid, tid = _integer(track.pid), _integer(track.tid)
        return (
            (process is None, process or 0),
            bool(is_device[index]),
            (pid is None, pid or 0, track.pid),
            (thread is None, thread or 0),
            (tid is None, tid or 0, track.tid),
        )

    positions = [0] * len(tracks)
    for order, index in enumerate(sorted(range(len(tracks)), key=key)):
        positions[index] = order
    return positions


def _first_per_track(count: int, track: Int32, values: Int64) -> Int64:
    first = np.full(count, ABSENT)
    given = np.flatnonzero(values != ABSENT)[::-1]
    first[track[given]] = values[given]
    return first


def _given_or(value: np.int64, other: int | None) -> int | None:
    return other if value == ABSENT else int(value)


def _device_of(track: Track) -> int | None:
    label = DEVICE_LABEL.search(track.process_label or "")
    device = _integer(label[1] if label else track.pid)
    return device if device is not None and abs(device) < MAX_DEVICES else None


def _counter_device(track: Track) -> int | None:
    """The device of a track of counters: by its process, ``GPU 0 Counters``, or the label of its
    process, ``GPU 0``."""
    match = COUNTER_PROCESS.fullmatch(track.pid) or COUNTER_PROCESS.fullmatch(
        track.process_name or ""
    )
    label = match or DEVICE_LABEL.match(track.process_label or "")
    device = _integer(label[1]) if label else None
    return device if device is not None and device < MAX_DEVICES else None


def _integer(value: object) -> int | None:
    """``value`` as an int64 if it is a whole number in any spelling, else None."""
    try:
        number = int(value) if isinstance(value, (int, str)) else int(str(value))
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 2**63 else None


class WorkLocations(Struct, frozen=True):
    """Where device work ran; arrays are aligned with it, :data:`ABSENT` is unknown.

    Attributes:
        device: Number of the device: its own argument, else that of its track.
        stream: Number of the stream likewise.
        device_index: Indices 0 … of the devices, distinguished by number and by pid of their rows:
            two processes may each have a device 0. All 0 in a file of one process.
        row: Rows in the importer's detail table, -1 for none; a slice if they are neighbours.
    """

    device: Int64
    stream: Int64
    device_index: Int64
    row: Int64 | slice


def locate_work(
    slices: OrderedSlices, details: ColumnArrays, tracks: pl.DataFrame, work: Int64
) -> WorkLocations:
    """Device and stream of device work (ids): its own arguments, else those of its track."""
    row_of = np.full(len(slices.start_ns), -1, np.int32)
    row_of[slices.new_id[details["slice"]]] = np.arange(len(details["slice"]), dtype=np.int32)
    row, track = neighbours(row_of[work].astype(np.int64)), slices.track[neighbours(work)]
    del row_of
    columns = []
    for column in ("device", "stream"):
        explicit = (
            details[column][row]
            if isinstance(row, slice)
            else (np.append(details[column], ABSENT)[row])
        )
        if not (explicit != ABSENT).all():
            track_values = tracks[column].fill_null(int(ABSENT)).to_numpy()
            explicit = np.where(explicit != ABSENT, explicit, track_values[track])
        columns.append(explicit)
    device_index = np.zeros(len(work), np.int64)
    if slices.has_several_processes:
        pid = tracks["pid"].rank("dense").to_numpy()
        _, device_index = dense_pair_ids(pid[track], columns[0])
    return WorkLocations(columns[0], columns[1], device_index, row)


def build_devices(
    declared: Iterable[DeviceInfo], used: Collection[int], quality: QualityReport
) -> pl.DataFrame:
    """The declared devices, each by its first declaration, and the devices that ran work."""
    rows: dict[int, tuple[Any, ...]] = {}
    for info in declared:
        rows.setdefault(info.device, _device_row(info, info.device in used))
    for device in sorted(set(used) - rows.keys()):
        quality.add("device_without_properties", 1, f"device {device}")
        rows[device] = _device_row(DeviceInfo(device=device), True)
    return pl.DataFrame([rows[device] for device in sorted(rows)], schema=DEVICES, orient="row")


def _device_row(info: DeviceInfo, used: bool) -> tuple[Any, ...]:
    return (
        info.device,
        info.name,
        info.memory_bytes,
        info.compute_major,
        info.compute_minor,
        info.sm_count,
        info.max_threads_per_sm,
        used,
    )
