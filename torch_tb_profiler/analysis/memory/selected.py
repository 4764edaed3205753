"""The part of the memory records that a selection means."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals, clip, union
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps, time_range
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def selected_records(trace: Trace, selection: Selection) -> Bools:
    """Mask over the records of those in the selection, by their time: in the host part of a
    selected step of their process, and in the time range.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    records = memory_records(trace)
    mask = inside(records.time_ns, selected_time(trace, selection))
    if selection.steps is None or trace.steps["process"].n_unique() < 2:
        return mask
    steps = trace.steps.filter(selected_steps(trace, selection))
    of_own = np.zeros(len(mask), np.bool_)
    for start, end, process in steps.select("host_start_ns", "host_end_ns", "process").iter_rows():
        within = slice(*np.searchsorted(records.time_ns, [start, end]))
        of_own[within] |= records.process[within] == process
    return mask & of_own


def selected_time(trace: Trace, selection: Selection) -> Intervals:
    """The time that the selection means of the host: its steps' own ranges, in the time range.
    Open ends are those of int64.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    stretches = Intervals(np.array([_LEAST]), np.array([_MOST]))
    if selection.steps is not None:
        steps = trace.steps.filter(selected_steps(trace, selection))
        stretches = union(steps["host_start_ns"].to_numpy(), steps["host_end_ns"].to_numpy())
    first_ns, last_ns = time_range(trace, selection)
    return clip(
        stretches,
        _LEAST if first_ns is None else first_ns,
        _MOST if last_ns is None else last_ns,
    )


def inside(time_ns: Int64, stretches: Intervals) -> Bools:
    """Mask of the times that lie in one of ``stretches``."""
    at = np.searchsorted(stretches.start_ns, time_ns, side="right") - 1
    mask: Bools = (at >= 0) & (time_ns < np.append(stretches.end_ns, _LEAST)[at])
    return mask
