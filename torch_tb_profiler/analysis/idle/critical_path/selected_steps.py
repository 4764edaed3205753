"""The steps whose critical path is computed for a selection."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.idle.critical_path.path import MAX_CACHED_STEPS
from torch_tb_profiler.analysis.idle.critical_path.step_graph import StepBounds
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.windows import StepWindows, step_windows
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def select_steps(trace: Trace, selection: Selection) -> tuple[list[str], list[StepBounds], int]:
    """The steps whose path is computed: names, windows, and how many selected steps are left out.

    The step of median length where the selection names none; else the first
    :data:`MAX_CACHED_STEPS` of those it names.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    windows = step_windows(trace, selection)
    rows = np.flatnonzero(windows.end_ns > windows.start_ns)
    if selection.steps is None:
        rows = _median(windows, rows)
    first = rows[:MAX_CACHED_STEPS]
    bounds = [_bounds(windows, row) for row in first.tolist()]
    return [windows.names[row] for row in first.tolist()], bounds, len(rows) - len(first)


def _median(windows: StepWindows, rows: Int64) -> Int64:
    averaged = rows[windows.averaged[rows]]
    rows = averaged if len(averaged) else rows
    length = (windows.end_ns - windows.start_ns)[rows]
    order = np.argsort(length, kind="stable")
    return rows[order[(len(order) - 1) // 2 :][:1]]


def _bounds(windows: StepWindows, row: int) -> StepBounds:
    steps = np.flatnonzero(windows.of_step == row)
    return StepBounds(int(windows.start_ns[row]), int(windows.end_ns[row]), tuple(steps.tolist()))
