"""Assign tracks to host processes. Ids that a process counts are comparable only within it."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES, NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int8, Int32, Track

NO_PROCESS = -1
"""Marks a track, or work, whose process is unknown."""

_ON_HOST, _ON_DEVICE = 1, 2


def number_processes(tracks: list[Track], track: Int32, category: Int8) -> Int32:
    """Per track the number of its host process, 0 …, in order of their pids.

    A process is a pid with operators, ranges or calls. A device row has none (:data:`NO_PROCESS`):
    its pid is the device.

    Args:
        tracks: The tracks of the file.
        track: Track of each slice, ascending.
        category: Category of each slice.
    """
    kinds = np.zeros(256, np.uint8)
    kinds[[*NODE_CATEGORIES, Category.RUNTIME]] = _ON_HOST
    kinds[list(DEVICE_CATEGORIES)] = _ON_DEVICE
    first = np.searchsorted(track, np.arange(len(tracks) + 1))
    used = np.flatnonzero(np.diff(first))
    of_track = np.zeros(len(tracks), np.uint8)
    if len(used):
        of_slices = kinds[category.view(np.uint8)]
        of_track[used] = np.bitwise_or.reduceat(of_slices, first[used])
    host_tracks = of_track & _ON_HOST > 0
    pids = {tracks[index].pid for index in np.flatnonzero(host_tracks).tolist()}
    number_of_pid = {pid: number for number, pid in enumerate(sorted(pids, key=_numbers_first))}
    return np.array(
        [
            NO_PROCESS if on_device else number_of_pid.get(track_info.pid, NO_PROCESS)
            for track_info, on_device in zip(tracks, (of_track == _ON_DEVICE).tolist(), strict=True)
        ],
        np.int32,
    )


def _numbers_first(pid: str) -> tuple[bool, int, str]:
    is_number = pid.isascii() and pid.isdigit()
    return (not is_number, int(pid[:18]) if is_number else 0, pid)
