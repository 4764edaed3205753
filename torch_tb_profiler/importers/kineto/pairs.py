"""B and E events → slices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.merge import PHASE_COLUMN
from torch_tb_profiler.trace.columns import ABSENT, Table
from torch_tb_profiler.trace.quality import QualityReport

BEGIN, END = 1, 2


def pair_begin_end(tables: dict[str, Table], unnamed_code: int, quality: QualityReport) -> None:
    """Give every B its duration and remove the E rows, in place.

    Pairs by a stack per track in order of time; an E closes the innermost open B of its name, or
    the innermost one when it has no name. A B that stays open ends with its track.

    Args:
        tables: All tables; the slices with their phase.
        unnamed_code: The code of the name of events without one.
        quality: Is told of Bs and Es without partner.
    """
    slices = tables["slices"]
    phase, start, track = slices[PHASE_COLUMN], slices["start_ns"], slices["track"]
    marks = np.flatnonzero(phase != 0)
    order = marks[np.lexsort((marks, start[marks], track[marks]))]
    open_rows: list[int] = []
    current = -1
    for row in order.tolist():
        if track[row] != current:
            _close_open(open_rows, slices, quality)
            current = int(track[row])
        if phase[row] == BEGIN:
            open_rows.append(row)
            continue
        name_code = int(slices["name_code"][row])
        if name_code == unnamed_code and open_rows:
            begin: int | None = open_rows.pop()
        else:
            begin = _match(open_rows, name_code, slices)
        if begin is None:
            quality.add("unmatched_end")
        else:
            slices["dur_ns"][begin] = start[row] - start[begin]
    _close_open(open_rows, slices, quality)
    _drop_rows(tables, phase == END)


def _match(open_rows: list[int], name_code: int, slices: Table) -> int | None:
    for depth in range(len(open_rows) - 1, -1, -1):
        if slices["name_code"][open_rows[depth]] == name_code:
            return open_rows.pop(depth)
    return None


def _close_open(open_rows: list[int], slices: Table, quality: QualityReport) -> None:
    """Let the Bs without E end with the last thing on their track."""
    if not open_rows:
        return
    on_track = slices["track"] == slices["track"][open_rows[0]]
    dur = np.maximum(slices["dur_ns"][on_track], 0)
    end = int((slices["start_ns"][on_track] + dur).max())
    for row in open_rows:
        slices["dur_ns"][row] = end - slices["start_ns"][row]
    quality.add("unmatched_begin", len(open_rows))
    open_rows.clear()


def _drop_rows(tables: dict[str, Table], gone: npt.NDArray[np.bool_]) -> None:
    position = np.where(gone, ABSENT, np.cumsum(~gone) - 1)
    for name, table in tables.items():
        if name == "slices":
            tables[name] = {column: values[~gone] for column, values in table.items()}
        elif "slice" in table:
            moved = position[table["slice"]]
            kept = moved != ABSENT
            tables[name] = {column: values[kept] for column, values in table.items()}
            tables[name]["slice"] = moved[kept]
