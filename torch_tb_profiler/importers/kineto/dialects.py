"""The dialects there are, and which one a file is written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from torch_tb_profiler.importers import ascend, paddle
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.columns import ColumnArrays, Track
from torch_tb_profiler.trace.quality import QualityReport

DIALECTS: tuple[Dialect, ...] = (paddle.DIALECT, ascend.DIALECT)


def dialect_of(
    header: Mapping[str, Any], tracks: Sequence[Track], quality: QualityReport
) -> Dialect | None:
    """The dialect of a file; None for PyTorch's own. ``quality`` is told of it."""
    spoken = next((each for each in DIALECTS if each.is_spoken(header, tracks)), None)
    if spoken is not None:
        quality.add(spoken.issue)
    return spoken


def join_rows(
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


def rename(slices: ColumnArrays, strings: list[str], renamed: Callable[[str], str]) -> None:
    """Give slices other names, in place; equal ones become one."""
    first: dict[str, int] = {}
    code = np.arange(len(strings) + 1, dtype=np.int32)
    code[-1] = -1
    for old in np.unique(slices["name_code"]).tolist():
        if old >= 0:
            name = renamed(strings[old])
            code[old] = first.setdefault(name, old)
            strings[old] = name
    slices["name_code"] = code[slices["name_code"]]
