"""Processes and threads of an exported trace, as viewers of Chrome traces know them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch_tb_profiler.trace.model import Trace

Event = dict[str, Any]


class ChromeTracks:
    """Where events stand: process and thread as the viewers know them."""

    def __init__(self, trace: Trace) -> None:
        self._rows = trace.tracks.sort("sort_index").to_dicts()
        self.place = {
            row["track"]: (_number(row["pid"]), _number(row["tid"])) for row in self._rows
        }
        self.process_of_device = {
            row["device"]: _number(row["pid"])
            for row in self._rows
            if row["is_device"] and row["device"] is not None
        }

    def declarations(self) -> Iterator[Event]:
        """Names and order of all processes and threads."""
        for order, row in enumerate(self._rows):
            pid, tid = self.place[row["track"]]
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


def _number(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdecimal() and len(text) <= 15 else text
