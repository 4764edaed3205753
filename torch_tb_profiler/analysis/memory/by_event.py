"""Memory events summed by the host event that each lies in, and by device.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.selected import selected_records
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

HOLDERS = (*NODE_CATEGORIES, Category.HOST_OTHER)
"""What a memory event is said to lie in: no call into a device's runtime, no python frame."""


@per_trace
def _rows(trace: Trace) -> pl.DataFrame:
    """``record`` (of :func:`memory_records`) and ``slice``: the innermost event around each, -1 for
    none, and once more the operator whose direct part that is."""
    inner, outer = _around(trace)
    category = trace.slices["category"].to_numpy()
    is_part = gather(category.astype(np.int64), inner) == Category.HOST_OTHER
    in_operator = gather(category.astype(np.int64), outer) == Category.OPERATOR
    parts = np.flatnonzero(is_part & in_operator)
    record = np.arange(len(inner))
    return pl.DataFrame(
        {
            "record": np.concatenate([record, parts]),
            "slice": np.concatenate([inner, outer[parts]]),
        }
    )


def _around(trace: Trace) -> tuple[Int64, Int64]:
    """Per memory record the innermost event around it and the one around that, -1 for none."""
    memory = trace.memory.filter(trace.memory["is_oom"].fill_null(0) != 1)
    track, time = memory["track"].to_numpy(), memory["time_ns"].to_numpy()
    slices = trace.slices
    events = np.flatnonzero(slices["category"].is_in([int(one) for one in HOLDERS]).to_numpy())
    of_track = slices["track"].to_numpy()[events]
    start = slices["start_ns"].to_numpy()[events]
    end = start + slices["dur_ns"].to_numpy()[events]
    inner = np.full(len(time), -1, np.int64)
    outer = np.full(len(time), -1, np.int64)
    for one in np.unique(track).tolist():
        first, behind = np.searchsorted(of_track, [one, one + 1])
        rows = np.flatnonzero(track == one)
        ends = end[first:behind]
        if not len(ends):
            continue
        preceding = np.searchsorted(start[first:behind], time[rows], "right")
        nearest = last_above(ends, preceding, time[rows] - 1)
        inner[rows] = np.where(nearest >= 0, events[first + nearest], -1)
        above = last_above(ends, np.maximum(nearest, 0), time[rows] - 1)
        outer[rows] = np.where((nearest >= 0) & (above >= 0), events[first + above], -1)
    return inner, outer


def memory_by_event(trace: Trace, selection: Selection) -> pl.DataFrame:
    """One row per device and name of an event: ``device`` (its label), ``name`` (null: in no
    event), ``allocation_count``, ``free_count``, ``allocation_bytes``, ``free_bytes`` (positive)
    and ``increase_bytes``. What lies directly in a part of an operator counts for both.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    records = memory_records(trace)
    chosen = np.flatnonzero(selected_records(trace, selection))
    rows = _rows(trace).filter(pl.col("record").is_in(chosen))
    record = rows["record"].to_numpy()
    names = trace.slices["name_code"].to_numpy().astype(np.int64)
    size = pl.col("size")
    labels = pl.Series([each.label for each in records.devices], dtype=pl.String)
    sums = (
        pl.DataFrame(
            {
                "device": records.device[record],
                "name_code": gather(names, rows["slice"].to_numpy()),
                "size": records.size_bytes[record],
            }
        )
        .group_by("device", "name_code")
        .agg(
            allocation_count=(size > 0).sum().cast(pl.Int64),
            free_count=(size < 0).sum().cast(pl.Int64),
            allocation_bytes=size.filter(size > 0).sum(),
            free_bytes=-size.filter(size < 0).sum(),
            increase_bytes=size.sum(),
        )
        .filter((pl.col("allocation_count") > 0) | (pl.col("free_count") > 0))
    )
    code = sums["name_code"].set(sums["name_code"] < 0, None)
    return sums.with_columns(device=labels.gather(sums["device"]), name=codes.texts(trace, code))
