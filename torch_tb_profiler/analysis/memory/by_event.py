"""Memory events summed by the host event that each lies in, and by device.

Definitions: ``docs/metrics.md#summaries``.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import last_above
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.analysis.memory.selected import inside, selected_records, selected_time
from torch_tb_profiler.analysis.operators.printed.nodes import (
    HOLDERS,
    are_of_types,
    is_paddle,
    node_frame,
    nodes,
)
from torch_tb_profiler.analysis.operators.printed.sums import OPERATOR
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

ALLOCATED, RESERVED = "Allocated", "Reserved"
PEAKS = ("peak_allocated_bytes", "peak_reserved_bytes")
PART = "OperatorInner"
"""Paddle's type of parts of operators that have no row of their own."""


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
    for one in distinct_values(track).tolist():
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
    """One row per device, kind and name of an event: ``device`` (its label), ``type``
    (:data:`ALLOCATED`, or :data:`RESERVED` of what an allocator took from its device), ``name``
    (null: in no event), ``allocation_count``, ``free_count``, ``allocation_bytes``, ``free_bytes``
    (positive) and ``increase_bytes``, in order of device, type and increase. What lies directly in
    a part of an operator counts for both.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if is_paddle(trace):
        return _summed(trace, held_rows(trace, selection))
    records = memory_records(trace)
    rows = _rows(trace)
    chosen = selected_records(trace, selection)[rows["record"].to_numpy()]
    rows = rows.filter(pl.Series(chosen, dtype=pl.Boolean))
    record = rows["record"].to_numpy()
    names = trace.slices["name_code"].to_numpy()
    labels = pl.Series([each.label for each in records.devices], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "device": labels.gather(records.device[record]),
            "type": pl.repeat(ALLOCATED, len(record), eager=True),
            "name_code": gather(names, rows["slice"].to_numpy()),
            "size": records.size_bytes[record],
        },
        schema={"device": pl.String, "type": pl.String, "name_code": pl.Int64, "size": pl.Int64},
    )
    frame = frame.filter(pl.col("size") != 0).with_columns(is_free=pl.col("size") < 0)
    return _summed(trace, frame.sort("device", maintain_order=True))


def _summed(trace: Trace, rows: pl.DataFrame) -> pl.DataFrame:
    """``rows`` (device, type, name_code, size, is_free) by the first three; of equal increase the
    first is first."""
    size, is_free = pl.col("size"), pl.col("is_free")
    sums = (
        rows.group_by("device", "type", "name_code", maintain_order=True)
        .agg(
            allocation_count=(~is_free).sum().cast(pl.Int64),
            free_count=is_free.sum().cast(pl.Int64),
            allocation_bytes=size.filter(~is_free).sum(),
            free_bytes=-size.filter(is_free).sum(),
            increase_bytes=size.sum(),
        )
        .sort(
            "device", "type", "increase_bytes", descending=[False, False, True], maintain_order=True
        )
    )
    code = sums["name_code"].set(sums["name_code"] < 0, None)
    return sums.with_columns(name=codes.texts(trace, code))


def held_rows(trace: Trace, selection: Selection) -> pl.DataFrame:
    """One row per memory event and host event that it counts for in Paddle's tables, in the order
    in which Paddle visits those: device, type, name_code, size, is_free, and the peaks stated. What
    lies in a part counts for the operator directly around it, and not for a part of the type
    OperatorInner; what lies in no event is left out.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    tree = nodes(trace)
    held = trace.held_memory
    number = np.full(trace.slices.height, -1, np.int64)
    number[tree.slice] = np.arange(len(tree.slice))
    node = gather(number, indices(held["slice"]))
    chosen = (node >= 0) & inside(held["time_ns"].to_numpy(), selected_time(trace, selection))
    every = node_frame(trace, Selection())
    is_operator = are_of_types(trace, every, OPERATOR)
    is_part = are_of_types(trace, every, PART)
    around = tree.parent[node]
    in_operator = chosen & (around >= 0) & is_operator[around]
    labels = {(one.type, one.id): one.label for one in memory_records(trace).devices}
    keys = zip(
        *(held[key].fill_null(ABSENT).to_list() for key in ("device_type", "device")), strict=True
    )
    frame = held.select(*PEAKS, "kind", pl.col("bytes").fill_null(0)).with_columns(
        device=pl.Series([labels.get(key) for key in keys], dtype=pl.String),
        type=pl.when(pl.col("kind") >= 2).then(pl.lit(RESERVED)).otherwise(pl.lit(ALLOCATED)),
        size="bytes",
        is_free=pl.col("kind") % 2 == 1,
    )
    rows = []
    for counted, mask in ((around, in_operator), (node, chosen & ~is_part[node])):
        at = np.flatnonzero(mask)
        rows.append(
            frame[at].with_columns(
                name_code=every["name_code"].cast(pl.Int64).gather(counted[at]),
                rank=pl.Series(tree.rank[counted[at]], dtype=pl.Int64),
            )
        )
    return pl.concat(rows).sort("rank", maintain_order=True)


def memory_peaks(trace: Trace, selection: Selection) -> pl.DataFrame:
    """``device`` (its label), ``peak_allocated_bytes`` and ``peak_reserved_bytes``: the largest
    totals; of Paddle's recordings the largest peaks stated with what its table counts.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    if is_paddle(trace):
        rows = held_rows(trace, selection)
        allocated = rows.filter(type=ALLOCATED)["device"].unique()
        return (
            rows.filter(pl.col("device").is_in(allocated.to_list()))
            .group_by("device", maintain_order=True)
            .agg(pl.col(key).max() for key in PEAKS)
            .sort("device")
        )
    records = memory_records(trace)
    chosen = np.flatnonzero(selected_records(trace, selection))
    labels = pl.Series([each.label for each in records.devices], dtype=pl.String)
    totals = (records.allocated_bytes, records.reserved_bytes)
    frame = pl.DataFrame(
        {"device": labels.gather(records.device[chosen])}
        | {key: total[chosen] for key, total in zip(PEAKS, totals, strict=True)}
    )
    known = (pl.col(key).filter(pl.col(key) != ABSENT).max() for key in PEAKS)
    return frame.group_by("device").agg(known).sort("device")
