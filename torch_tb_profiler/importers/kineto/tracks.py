"""(pid, tid) and the M events → tracks with names; rows that are one thread → one track."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torch_tb_profiler.importers.kineto.values import MAX_TEXT_CHARS, int_column, text_of
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Track
from torch_tb_profiler.trace.quality import QualityReport


def build_tracks(
    keys: list[tuple[str, str]], declared: dict[tuple[str, str, str], Any]
) -> list[Track]:
    """The tracks in order of ``keys``; of repeated declarations the last one counts."""
    processes: dict[tuple[str, str], Any] = {}
    for (what, pid, _), value in declared.items():
        processes[what, pid] = value
    return [
        Track(
            pid=pid,
            tid=tid,
            process_name=_text(processes.get(("process_name", pid))),
            process_label=_text(processes.get(("process_labels", pid))),
            thread_name=_text(declared.get(("thread_name", pid, tid))),
            process_sort_index=_number(processes.get(("process_sort_index", pid))),
            thread_sort_index=_number(declared.get(("thread_sort_index", pid, tid))),
        )
        for pid, tid in keys
    ]


def _text(value: Any) -> str | None:
    return None if value is None else text_of(value)[:MAX_TEXT_CHARS]


def _number(value: Any) -> int | None:
    number = int(int_column([value], QualityReport())[0])
    return None if number == ABSENT else number


def merge_rows(
    tables: dict[str, ColumnArrays], tracks: list[Track], thread: Callable[[Track], Track]
) -> list[Track]:
    """The threads behind ``tracks``, in order of their first row; tables are told, in place."""
    threads: dict[tuple[str, str], Track] = {}
    places: dict[tuple[str, str], int] = {}
    of_row = np.zeros(len(tracks), np.int32)
    for row, track in enumerate(tracks):
        own = thread(track)
        key = (own.pid, own.tid)
        of_row[row] = places.setdefault(key, len(places))
        threads.setdefault(key, own)
    for table in tables.values():
        if "track" in table and len(table["track"]):
            table["track"] = of_row[table["track"]]
    return list(threads.values())
