"""Slices on the host that mark compilation, garbage collection and other side activities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, union, union_all
from torch_tb_profiler.analysis.idle.gaps import all_idle
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.knowledge.host_marks import MARK_KINDS, MarkKind, mark_kind
from torch_tb_profiler.trace.categories import DEVICE_CATEGORIES
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

COLUMNS = ("id", "track", "name_code", "start_ns", "dur_ns", "parent")
"""The columns of ``trace.slices`` that do not depend on the split into iterations."""


@per_trace
def host_marks(trace: Trace) -> Mapping[MarkKind, pl.DataFrame]:
    """The slices of each kind, with :data:`COLUMNS`."""
    number: dict[MarkKind | None, int] = {kind: row for row, kind in enumerate(MARK_KINDS)}
    names = trace.slices["name_code"].to_numpy()
    kinds = codes.map_names(trace, names, lambda name: number.get(mark_kind(name), -1), np.int8)
    rows = np.flatnonzero(kinds >= 0)
    rows = rows[~np.isin(trace.slices["category"].to_numpy()[rows], DEVICE_CATEGORIES)]
    slices, kinds = trace.slices.select(COLUMNS)[rows], kinds[rows]
    return {kind: slices.filter(pl.Series(kinds == row)) for row, kind in enumerate(MARK_KINDS)}


def slice_intervals(slices: pl.DataFrame) -> Intervals:
    """The time in which any of some slices ran."""
    start = slices["start_ns"].to_numpy()
    return union(start, start + slices["dur_ns"].to_numpy())


def lost_time(trace: Trace, time: Intervals) -> Intervals:
    """The part of some host time that the program loses: all of it, or the part in which no device
    works if device work is recorded."""
    return time if trace.device_work.is_empty() else intersect(time, all_idle(trace))


def in_steps(context: Context, slices: pl.DataFrame) -> pl.DataFrame:
    """The slices that start in the selected steps."""
    return slices.filter(pl.Series(context.inside(slices["start_ns"].to_numpy())))


@per_trace
def separately_reported(trace: Trace) -> Intervals:
    """Host time that has separate findings: compilation and garbage collection."""
    slices = host_marks(trace)
    parts = slices["compilation"], slices["collection"], slices["collect"]
    return union_all(*(slice_intervals(part) for part in parts))


def outermost_slices(slices: pl.DataFrame) -> pl.DataFrame:
    """The slices, in order of id, that start in no earlier one on their track."""
    reach = (pl.col("start_ns") + pl.col("dur_ns")).cum_max().shift(1).over("track")
    return slices.filter((pl.col("start_ns") >= reach).fill_null(value=True))
