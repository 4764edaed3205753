"""Calls into the runtime and driver of a device: their host time, and the work they launched.

Definitions: ``docs/metrics.md#api-calls``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

_KINDS = {"kernels": Category.KERNEL, "copies": Category.MEMCPY, "sets": Category.MEMSET}


@per_trace
def api_calls(trace: Trace) -> pl.DataFrame:
    """One row per call of a runtime or driver, in order of slice id.

    Columns: slice, name_code, dur_ns, self_ns (without the calls inside it), around (row of the
    nearest call of the same name around it, -1 for none).
    """
    is_call = trace.slices["category"] == Category.RUNTIME
    calls = trace.slices.select("id", "name_code", "track", "start_ns", "dur_ns").filter(is_call)
    parent = _parents(calls)
    start = calls["start_ns"].to_numpy()
    end = start + calls["dur_ns"].to_numpy()
    covered = _covered_by_inner(parent, start, end)
    rows: pl.DataFrame = calls.select(
        "name_code",
        "dur_ns",
        slice="id",
        self_ns=pl.col("dur_ns") - pl.Series(covered),
        around=pl.Series(_same_name_around(parent, calls["name_code"].to_numpy())),
    )
    return rows


def _parents(calls: pl.DataFrame) -> Int64:
    """Per call the last one before it on its track that lasts beyond its start, -1 for none."""
    starts_late = pl.col("start_ns") < (pl.col("start_ns") + pl.col("dur_ns")).cum_max().shift(1)
    inside = calls.select(starts_late.over("track").fill_null(False)).to_series()
    rows = np.flatnonzero(inside.to_numpy())
    parent = np.full(calls.height, -1, np.int64)
    if len(rows):
        start = calls["start_ns"].to_numpy()
        # Slices are in order of track: the last one that is still running is on the same track.
        parent[rows] = last_above(start + calls["dur_ns"].to_numpy(), rows, start[rows])
    return parent


def _covered_by_inner(parent: Int64, start: Int64, end: Int64) -> Int64:
    """Per call the time in ns that calls inside it take; the part of a call that outlasts the one
    around it counts in those further out."""
    covered = np.zeros(len(parent), np.int64)
    inner = np.flatnonzero(parent >= 0)
    outer, begin, until = parent[inner], start[inner], end[inner]
    while len(outer):
        stop = np.minimum(until, end[outer])
        np.add.at(covered, outer, np.maximum(stop - begin, 0))
        begin = np.maximum(begin, stop)
        outer = parent[outer]
        has_rest = (outer >= 0) & (begin < until)
        outer, begin, until = outer[has_rest], begin[has_rest], until[has_rest]
    return covered


def _same_name_around(parent: Int64, name: Int64) -> Int64:
    around = np.full(len(parent), -1, np.int64)
    rows = np.flatnonzero(parent >= 0)
    above = parent[rows]
    while len(rows):
        is_same = name[above] == name[rows]
        around[rows[is_same]] = above[is_same]
        rows, above = rows[~is_same], parent[above[~is_same]]
        rows, above = rows[above >= 0], above[above >= 0]
    return around


def api_call_groups(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Selected calls by name, and the selected device work that calls of the name launched.

    Columns: name_code, calls, self_ns, total_ns (a call inside another of its name is not added),
    dur_ns (of all calls), min_ns and max_ns (null without a call), launched, device_ns, kernels,
    copies, sets. Calls are selected by their start and device work separately, so a call before the
    selection whose work lies in it has a row of 0 calls.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = api_calls(trace)
    chosen = np.ones(calls.height, np.bool_)
    if not selection.is_everything:
        chosen = slice_mask(trace, selection)[calls["slice"].to_numpy()]
    around = calls["around"].to_numpy()
    is_part = (around >= 0) & chosen[around] if len(around) else chosen
    host = (
        calls.with_columns(total_ns=pl.when(pl.Series(~is_part)).then("dur_ns").otherwise(0))
        .filter(pl.Series(chosen))
        .group_by("name_code", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("calls"),
            pl.col("self_ns", "total_ns", "dur_ns").sum(),
            pl.col("dur_ns").min().alias("min_ns"),
            pl.col("dur_ns").max().alias("max_ns"),
        )
    )
    launched = _launched(trace, selection)
    joined = host.join(
        launched, on="name_code", how="full", coalesce=True, maintain_order="left_right"
    )
    counts = ("calls", "self_ns", "total_ns", "dur_ns", "launched", "device_ns", *_KINDS)
    return joined.with_columns(pl.col(counts).fill_null(0))


def _launched(trace: Trace, selection: Selection) -> pl.DataFrame:
    """Selected device work by the name of the call that launched it."""
    work = trace.device_work.select("category", "dur_ns", "launch")
    launch = indices(work["launch"])
    category = np.append(trace.slices["category"].to_numpy(), np.int8(-1))
    chosen = category[launch] == Category.RUNTIME
    if not selection.is_everything:
        chosen &= device_work_mask(trace, selection)
    names = trace.slices["name_code"].gather(launch[chosen])
    launched = work.filter(pl.Series(chosen)).with_columns(name_code=names)
    return launched.group_by("name_code", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("launched"),
        pl.col("dur_ns").sum().alias("device_ns"),
        *(
            (pl.col("category") == kind).sum().cast(pl.Int64).alias(key)
            for key, kind in _KINDS.items()
        ),
    )
