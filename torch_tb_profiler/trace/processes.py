"""Which host process a track belongs to. Ids that a process counts are compared inside it only."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int8, Int32, Track

NO_PROCESS = -1
"""Marks a track, or work, whose process the file does not name."""


def number_processes(tracks: list[Track], track: Int32, category: Int8) -> Int32:
    """Per track the number of its host process, 0 …, in order of their pids.

    A row of a device has none (:data:`NO_PROCESS`): its pid is the device. Nor has the row of the
    recording's span.

    Args:
        tracks: The tracks of the file.
        track: Track of each slice.
        category: Category of each slice.
    """
    outside = np.zeros(256, np.bool_)
    outside[[*DEVICE_CATEGORIES, Category.SPAN]] = True
    is_outside = outside[category.view(np.uint8)]
    slices = np.bincount(track, minlength=len(tracks))
    on_host = (slices == 0) | (np.bincount(track[~is_outside], minlength=len(tracks)) > 0)
    pids = {tracks[index].pid for index in np.flatnonzero(on_host).tolist()}
    number = {pid: place for place, pid in enumerate(sorted(pids, key=_numbers_first))}
    return np.array(
        [
            number[one.pid] if here else NO_PROCESS
            for one, here in zip(tracks, on_host.tolist(), strict=True)
        ],
        np.int32,
    )


def _numbers_first(pid: str) -> tuple[bool, int, str]:
    is_number = pid.isascii() and pid.isdigit()
    return (not is_number, int(pid[:18]) if is_number else 0, pid)
