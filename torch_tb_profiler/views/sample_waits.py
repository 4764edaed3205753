"""The share of time that a program waited for data, if recorded."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import role_costs
from torch_tb_profiler.analysis.steps.data_loading.batches import TRAIN, selected_batches
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.model import Trace


def waits_pct(trace: Trace, selection: Selection) -> float | None:
    """Percent of the time, from the best source: batches of loaders, timed steps, or ranges of data
    loaders in the steps; None without any.

    Raises:
        SelectionError: the selection names steps the trace does not have.
    """
    batches = selected_batches(trace, selection).filter(phase=TRAIN)
    side = trace.side.get("timed_steps")
    timed = pl.DataFrame() if side is None else side.frame.filter(phase=TRAIN)
    if batches.height:
        share = _share(batches["wait_us"], batches["period_us"])
    elif timed.height and timed["reader_us"].count():
        share = _share(timed["reader_us"], timed["duration_us"])
    else:
        share = _in_steps(trace, selection)
    return share


def _share(part: pl.Series, whole: pl.Series) -> float | None:
    total = float(whole.sum())
    return 100 * float(part.sum()) / total if total > 0 else None


def _in_steps(trace: Trace, selection: Selection) -> float | None:
    if not (trace.slices["category"] == Category.DATALOADER).any():
        return None
    windows = step_windows(trace, selection).of_averages
    length = int((windows.end_ns - windows.start_ns).sum())
    waited = int(role_costs(trace, windows)[:, Role.DATALOADER].sum())
    return 100 * waited / length if length else None
