"""The time a selection speaks of: its steps, cut at the edges of its time range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.selection import Selection, selected_steps, time_range
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class StepWindows:
    """Steps in time order, disjoint.

    Attributes:
        names: Name of each.
        start_ns: Start of each, after stretching and cutting.
        end_ns: End of each, not included.
        left_out: Names of steps the recording ended in, left out because nobody asked for them.
    """

    names: list[str]
    start_ns: Int64
    end_ns: Int64
    left_out: list[str]


def step_windows(trace: Trace, selection: Selection) -> StepWindows:
    """The steps of ``selection``; without ``steps`` all that were recorded to their end.

    A step that lies outside the time range is none; one that it cuts counts with what is inside.

    Raises:
        SelectionError: as :func:`selected_steps`.
    """
    steps = trace.steps
    chosen = selected_steps(trace, selection)
    left_out = np.zeros(len(chosen), np.bool_)
    if selection.steps is None:
        left_out = ~steps["kept"].to_numpy()
        chosen = chosen & ~left_out
    start, end = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        chosen = chosen & (end > first_ns)
        start = np.maximum(start, first_ns)
    if last_ns is not None:
        chosen = chosen & (start < last_ns)
        end = np.minimum(end, last_ns)
    names: list[str] = steps["name"].to_list()
    return StepWindows(
        [names[row] for row in np.flatnonzero(chosen)],
        start[chosen],
        np.maximum(end, start)[chosen],
        [names[row] for row in np.flatnonzero(left_out)],
    )
