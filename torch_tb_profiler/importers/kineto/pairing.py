"""Pairs B and E events into slices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int64
from torch_tb_profiler.trace.quality import QualityReport

BEGIN, END = 1, 2


def pair_begin_end(
    tables: dict[str, ColumnArrays], unnamed_code: int, quality: QualityReport
) -> None:
    """Set the duration of every B and remove the E rows, in place.

    Uses a stack per track in order of time; an E closes the innermost open B of its name, or the
    innermost one if it has no name. A B without an E ends at the end of its track.

    Args:
        tables: All tables; slices with their phase.
        unnamed_code: The code of the placeholder name of events without a name.
        quality: Counts unmatched Bs and Es.
    """
    slices = tables["slices"]
    phase, start, track = slices[PHASE_COLUMN], slices["start_ns"], slices["track"]
    end = np.full(int(track.max(initial=-1)) + 1, np.iinfo(np.int64).min)
    np.maximum.at(end, track, start + np.maximum(slices["dur_ns"], 0))
    marks = np.flatnonzero(phase != 0)
    order = marks[np.lexsort((marks, start[marks], track[marks]))]
    is_open = _OpenRows()
    current = -1
    for row, name_code in zip(order.tolist(), slices["name_code"][order].tolist(), strict=True):
        if track[row] != current:
            _close(is_open.pop_all(), end, slices, quality)
            current = int(track[row])
        if phase[row] == BEGIN:
            is_open.push(row, name_code)
            continue
        begin = is_open.pop(None if name_code == unnamed_code else name_code)
        if begin is None:
            quality.add("unmatched_end")
        else:
            slices["dur_ns"][begin] = start[row] - start[begin]
    _close(is_open.pop_all(), end, slices, quality)
    _drop_rows(tables, phase == END)


class _OpenRows:
    """The open Bs of a track, with constant-time access to the innermost one of each name."""

    def __init__(self) -> None:
        self._rows: dict[int, int] = {}  # row → name code, outermost first
        self._by_name: dict[int, list[int]] = {}

    def push(self, row: int, name_code: int) -> None:
        self._rows[row] = name_code
        self._by_name.setdefault(name_code, []).append(row)

    def pop(self, name_code: int | None) -> int | None:
        """Remove and return the innermost row of a name, or of any name for None; None without
        one."""
        if name_code is None:
            if not self._rows:
                return None
            name_code = next(reversed(self._rows.values()))
        rows = self._by_name.get(name_code)
        if not rows:
            return None
        row = rows.pop()
        del self._rows[row]
        return row

    def pop_all(self) -> list[int]:
        rows = list(self._rows)
        self._rows.clear()
        self._by_name.clear()
        return rows


def _close(rows: list[int], end: Int64, slices: ColumnArrays, quality: QualityReport) -> None:
    """End unmatched Bs at the end of their track."""
    if rows:
        slices["dur_ns"][rows] = end[slices["track"][rows]] - slices["start_ns"][rows]
        quality.add("unmatched_begin", len(rows))


def _drop_rows(tables: dict[str, ColumnArrays], is_dropped: npt.NDArray[np.bool_]) -> None:
    position = np.where(is_dropped, ABSENT, np.cumsum(~is_dropped) - 1)
    for name, table in tables.items():
        if name == "slices":
            tables[name] = {column: values[~is_dropped] for column, values in table.items()}
        elif "slice" in table:
            row = position[table["slice"]]
            is_retained = row != ABSENT
            tables[name] = {column: values[is_retained] for column, values in table.items()}
            tables[name]["slice"] = row[is_retained]
