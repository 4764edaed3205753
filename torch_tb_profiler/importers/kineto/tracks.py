"""(pid, tid) and M events → named tracks, and the merging of rows that are one thread."""

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
    """The tracks in order of ``keys``.

    Args:
        keys: (pid, tid) of each track.
        declared: (event name, pid, tid) → value, from M events.
    """
    processes: dict[tuple[str, str], Any] = {}
    for (event_name, pid, _), value in declared.items():
        processes[event_name, pid] = value
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
    tables: dict[str, ColumnArrays], tracks: list[Track], thread_of: Callable[[Track], Track]
) -> list[Track]:
    """Merge rows of the same thread; returns the threads in order of their first row.

    Args:
        tables: All tables; their ``track`` columns are updated in place.
        tracks: The rows.
        thread_of: Row → its thread.
    """
    threads: dict[tuple[str, str], Track] = {}
    indices: dict[tuple[str, str], int] = {}
    index_of_row = np.zeros(len(tracks), np.int32)
    for row, track in enumerate(tracks):
        thread = thread_of(track)
        key = (thread.pid, thread.tid)
        index_of_row[row] = indices.setdefault(key, len(indices))
        threads.setdefault(key, thread)
    for table in tables.values():
        if "track" in table and len(table["track"]):
            table["track"] = index_of_row[table["track"]]
    return list(threads.values())
