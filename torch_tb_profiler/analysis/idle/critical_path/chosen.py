"""Which steps the path is of."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.idle.critical_path.build import StepBounds
from torch_tb_profiler.analysis.idle.critical_path.path import KEPT_STEPS
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def chosen_steps(trace: Trace, selection: Selection) -> tuple[list[str], list[StepBounds], int]:
    """The steps the path is of: names, windows, and how many selected ones are left out.

    Where no steps are named the one of median length; else those named, the first
    :data:`KEPT_STEPS` of them.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = step_windows(trace, selection)
    rows = np.flatnonzero(windows.end_ns > windows.start_ns)
    if selection.steps is None:
        rows = _median(windows, rows)
    kept = rows[:KEPT_STEPS]
    bounds = [_bounds(windows, row) for row in kept.tolist()]
    return [windows.names[row] for row in kept.tolist()], bounds, len(rows) - len(kept)


def _median(windows: StepWindows, rows: Int64) -> Int64:
    averaged = rows[windows.averaged[rows]]
    rows = averaged if len(averaged) else rows
    length = (windows.end_ns - windows.start_ns)[rows]
    order = np.argsort(length, kind="stable")
    return rows[order[(len(order) - 1) // 2 :][:1]]


def _bounds(windows: StepWindows, row: int) -> StepBounds:
    of = np.flatnonzero(windows.of_step == row)
    return StepBounds(int(windows.start_ns[row]), int(windows.end_ns[row]), tuple(of.tolist()))
