"""Which host process a track belongs to. Ids that a process counts are compared inside it only."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int32, Track

NO_PROCESS = -1
"""Marks a track, or work, whose process the file does not name."""


def number_processes(tracks: list[Track], track: Int32, category: Int8) -> Int32:
    """Per track the number of its host process, 0 …, in order of their pids.

    A process is a pid with operators, ranges or calls. A row of a device has none
    (:data:`NO_PROCESS`): its pid is the device.

    Args:
        tracks: The tracks of the file.
        track: Track of each slice.
        category: Category of each slice.
    """
    works = _tracks_with(len(tracks), track, category, (*NODE_CATEGORIES, Category.RUNTIME))
    is_row_of_device = _tracks_with(len(tracks), track, category, DEVICE_CATEGORIES) & ~works
    pids = {tracks[index].pid for index in np.flatnonzero(works).tolist()}
    number = {pid: place for place, pid in enumerate(sorted(pids, key=_numbers_first))}
    return np.array(
        [
            NO_PROCESS if elsewhere else number.get(one.pid, NO_PROCESS)
            for one, elsewhere in zip(tracks, is_row_of_device.tolist(), strict=True)
        ],
        np.int32,
    )


def _tracks_with(
    count: int, track: Int32, category: Int8, categories: tuple[Category, ...]
) -> Bools:
    """Mask of the tracks that have slices of these categories."""
    wanted = np.zeros(256, np.bool_)
    wanted[list(categories)] = True
    mask = np.zeros(count, np.bool_)
    mask[track[wanted[category.view(np.uint8)]]] = True
    return mask


def _numbers_first(pid: str) -> tuple[bool, int, str]:
    is_number = pid.isascii() and pid.isdigit()
    return (not is_number, int(pid[:18]) if is_number else 0, pid)
