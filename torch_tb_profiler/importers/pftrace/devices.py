"""Labels the rows that hold only the work of one device as rows of that device."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.durations import sanitize_durations
from torch_tb_profiler.importers.kineto.assemble import sanitize_device_numbers
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int64, Track
from torch_tb_profiler.trace.quality import QualityReport

NUMBER = re.compile(r"(\d{1,9})\D*$")


def label_device_rows(
    tables: dict[str, ColumnArrays], tracks: list[Track], quality: QualityReport
) -> None:
    """Remove implausible device numbers and durations, and label the rows of devices; in place."""
    sanitize_device_numbers(tables, quality)
    sanitize_durations(tables["slices"], quality)
    slices, device = tables["slices"], tables["device"]
    on_device = np.isin(slices["category"], [int(c) for c in DEVICE_CATEGORIES])
    has_host = np.zeros(len(tracks), np.bool_)
    has_host[slices["track"][~on_device]] = True
    device_of_track = _devices_of_tracks(slices, device, on_device, len(tracks))
    for index, number in enumerate(device_of_track.tolist()):
        track = tracks[index]
        if number == ABSENT or has_host[index] or track.process_label is not None:
            continue
        name = track.thread_name or track.tid
        lane = NUMBER.search(name)
        tracks[index] = Track(
            str(number),
            lane[1] if lane else name,
            process_label=f"GPU {number}",
            thread_name=name,
        )


def _devices_of_tracks(
    slices: ColumnArrays, device: ColumnArrays, on_device: Bools, size: int
) -> Int64:
    """Per track the number of the only device with work on it; :data:`ABSENT` for none or
    several."""
    rows = np.flatnonzero(on_device[device["slice"]] & (device["device"] != ABSENT))
    track, number = slices["track"][device["slice"][rows]], device["device"][rows]
    lowest = np.full(size, np.iinfo(np.int64).max)
    highest = np.full(size, ABSENT)
    np.minimum.at(lowest, track, number)
    np.maximum.at(highest, track, number)
    return np.where(lowest == highest, highest, ABSENT)
