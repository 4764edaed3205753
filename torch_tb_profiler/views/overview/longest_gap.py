"""The longest stretch of the steps in which no device worked, and what went on meanwhile."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import split_at_windows, total_within
from torch_tb_profiler.analysis.communication.roles import (
    ROLE_TITLES,
    TIMED_ROLES,
    Role,
    exclusive_intervals,
)
from torch_tb_profiler.analysis.idle.gaps import all_idle
from torch_tb_profiler.analysis.steps.windows import StepWindows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, Table, TableSpec

LONGEST_GAP = TableSpec(
    "longest_gap",
    "Longest gap",
    "The longest time within a step in which no GPU ran kernels or copies.",
    (
        Column("step", "Step", "string", None, "The step it lies in."),
        Column("start_us", "Start", "number", "us", "Its start, since the first event."),
        Column("duration_us", "Duration", "number", "us", "Its length."),
        Column(
            "category",
            "Category",
            "string",
            None,
            "The category of the average step with the most time in it.",
        ),
        Column("category_pct", "Share", "number", "pct", "The share of that category in it."),
    ),
    is_summary=True,
    when_empty="No GPU work is recorded, or a GPU works all the time.",
)


def longest_gap(trace: Trace, windows: StepWindows) -> Table:
    """The gap as a table of one row, or of none."""
    chosen = windows.of_averages
    rows: list[tuple[str, float, float, str, float]] = []
    if trace.device_work.height:
        gaps = split_at_windows(all_idle(trace), chosen.start_ns, chosen.end_ns)
        if gaps.length_ns.max(initial=0) > 0:
            row = int(gaps.length_ns.argmax())
            start, end = gaps.start_ns[row : row + 1], gaps.end_ns[row : row + 1]
            length_ns = int(end[0] - start[0])
            spent = np.zeros(len(Role), np.int64)
            for role, intervals in zip(TIMED_ROLES, exclusive_intervals(trace), strict=True):
                spent[role] = total_within(intervals, start, end)[0]
            spent[Role.OTHER] = length_ns - spent.sum()
            most = Role(int(spent.argmax()))
            rows.append(
                (
                    chosen.names[int(gaps.window[row])],
                    (int(start[0]) - trace.meta.start_ns) / NS_PER_US,
                    length_ns / NS_PER_US,
                    ROLE_TITLES[most],
                    100 * int(spent[most]) / length_ns,
                )
            )
    frame = pl.DataFrame(rows, schema=LONGEST_GAP.polars_schema(), orient="row")
    return Table(LONGEST_GAP, frame)
