"""Processes and threads of an exported trace, as viewers of Chrome traces know them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from torch_tb_profiler.trace.model import Trace

Event = dict[str, Any]

ProcessAndThread = tuple[int | str, int | str]
"""Process and thread."""


DEVICE_PROCESS = 0x10000000
"""Is added to the number of a device that a process of the host has too, as inside containers."""


class ChromeTracks:
    """Where events stand: process and thread as the viewers know them, of each track its own."""

    def __init__(self, trace: Trace) -> None:
        self._rows = trace.tracks.sort("sort_index").to_dicts()
        self.ids = _ids_of_tracks(self._rows)
        self.process_of_device = {
            row["device"]: self.ids[row["track"]][0]
            for row in self._rows
            if row["is_device"] and row["device"] is not None
        }

    def process_of(self, device: int) -> int | str:
        """The process in which a device is shown."""
        return self.process_of_device.get(device, device)

    def number_of(self, device: int) -> int:
        """The number of a device in the file."""
        return device

    def declarations(self) -> Iterator[Event]:
        """Names and order of all processes and threads."""
        for order, row in enumerate(self._rows):
            pid, tid = self.ids[row["track"]]
            arguments = {
                "process_name": {"name": row["process_name"]},
                "process_labels": {"labels": row["process_label"]},
                "process_sort_index": {"sort_index": order},
                "thread_name": {"name": row["thread_name"]},
                "thread_sort_index": {"sort_index": order},
            }
            for name, args in arguments.items():
                if None not in args.values():
                    yield {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def _ids_of_tracks(rows: list[dict[str, Any]]) -> dict[int, ProcessAndThread]:
    """Process and thread of each track; of two tracks with the same ones, as streams of one number
    in two processes have, the second has another thread."""
    hosts = {row["pid"] for row in rows if not row["is_device"]}
    ids: dict[int, ProcessAndThread] = {}
    taken: set[ProcessAndThread] = set()
    for row in rows:
        pid, tid = _number(row["pid"]), _number(row["tid"])
        if row["is_device"] and row["pid"] in hosts and isinstance(pid, int):
            pid += DEVICE_PROCESS
        other = (f"{row['tid']} ({number})" for number in count(2))
        while (pid, tid) in taken:
            tid = next(other)
        taken.add((pid, tid))
        ids[row["track"]] = pid, tid
    return ids


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() and len(text) <= 15 else text
