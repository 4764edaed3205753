"""Slices of a trace that tell what its program does beside its work."""

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
"""What of ``trace.slices`` no choice of iterations changes."""


@per_trace
def marks(trace: Trace) -> Mapping[MarkKind, pl.DataFrame]:
    """The slices of each kind, with :data:`COLUMNS`."""
    number: dict[MarkKind | None, int] = {kind: row for row, kind in enumerate(MARK_KINDS)}
    names = trace.slices["name_code"].to_numpy()
    said = codes.map_names(trace, names, lambda name: number.get(mark_kind(name), -1), np.int8)
    rows = np.flatnonzero(said >= 0)
    rows = rows[~np.isin(trace.slices["category"].to_numpy()[rows], DEVICE_CATEGORIES)]
    found, kinds = trace.slices.select(COLUMNS)[rows], said[rows]
    return {kind: found.filter(pl.Series(kinds == row)) for row, kind in enumerate(MARK_KINDS)}


def time_of(slices: pl.DataFrame) -> Intervals:
    """When any of some slices ran."""
    start = slices["start_ns"].to_numpy()
    return union(start, start + slices["dur_ns"].to_numpy())


def lost_in(trace: Trace, time: Intervals) -> Intervals:
    """What of some time of the host the program loses: all of it, where devices work what of it
    none does."""
    return time if trace.device_work.is_empty() else intersect(time, all_idle(trace))


def in_steps(context: Context, slices: pl.DataFrame) -> pl.DataFrame:
    """The slices that begin in the steps looked at."""
    return slices.filter(pl.Series(context.inside(slices["start_ns"].to_numpy())))


@per_trace
def told_apart(trace: Trace) -> Intervals:
    """Time of the host that has findings of its own: compilation and garbage collection."""
    of_kind = marks(trace)
    parts = of_kind["compilation"], of_kind["collection"], of_kind["collect"]
    return union_all(*(time_of(part) for part in parts))


def outermost(slices: pl.DataFrame) -> pl.DataFrame:
    """Those of some slices, in order of id, that begin in none before them on their track."""
    reach = (pl.col("start_ns") + pl.col("dur_ns")).cum_max().shift(1).over("track")
    return slices.filter((pl.col("start_ns") >= reach).fill_null(value=True))
