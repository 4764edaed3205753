"""Rows that a recording's own tables have per step, joined to the steps that are looked at."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import selected_steps
from torch_tb_profiler.trace.model import Trace


def can_narrow(trace: Trace, selection: Selection, steps: pl.Series) -> bool:
    """Whether the steps of a recorded table (their names) can be narrowed to a selection: some are
    steps of the trace, and nothing but steps is asked for."""
    if selection.start_ns is not None or selection.end_ns is not None:
        return False
    names = trace.steps["name"]
    return selection.steps is None or bool(steps.is_in(names.to_list()).any())


def rows_of_steps(
    trace: Trace, selection: Selection, frame: pl.DataFrame, key: str
) -> pl.DataFrame:
    """The rows of the selected steps, by their names in column ``key`` (of any type); all rows
    where the selection cannot narrow them (:func:`can_narrow`).

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    steps = frame[key].cast(pl.String)
    if selection.steps is None or not can_narrow(trace, selection, steps):
        return frame
    chosen = trace.steps["name"].filter(pl.Series(selected_steps(trace, selection)))
    return frame.filter(steps.is_in(chosen.to_list()))
