"""The detail tables: columns of one kind of slice, with slice ids of the trace and their links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.trace.columns import (
    ABSENT,
    DEVICE_COLUMNS,
    ColumnArrays,
    EventColumns,
    Int8,
    Int64,
)
from torch_tb_profiler.trace.constant_columns import constant, neighbours, rows_at
from torch_tb_profiler.trace.devices import WorkLocations
from torch_tb_profiler.trace.forward_operators import match_forward_operators
from torch_tb_profiler.trace.links import DeviceWork
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import DEVICE_WORK
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.nulls import (
    NO_LINK,
    absent_marker,
    nullable,
    table_to_frame,
    to_frame,
)
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.processes import NO_PROCESS
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.sums import resolve

MAX_WARPS_PER_SM = 64
"""The maximum of all devices so far; where it is lower, the same warps are a larger share."""

ROUNDED_AWAY_PCT = 1.0
"""Occupancies are written as whole numbers: below this, 0 may be due to rounding."""

MAX_BLOCKS_PER_SM = 1e12

LAUNCH_MEASURES = ("blocks_per_sm", "est_achieved_occupancy_pct")
MEASURES = (*LAUNCH_MEASURES, "bytes")


_ORPHAN_REASONS = (None, "no_launch", "ambiguous_launch", "no_operator")


def by_slice(table: ColumnArrays, new_id: Int64) -> ColumnArrays:
    """A detail table with its ``slice`` column in ids of the trace, ordered by it; rows of one
    slice stay in order.

    The columns are taken out of ``table``.
    """
    table["slice"] = new_id[table["slice"]]
    order = np.argsort(table["slice"], kind="stable")
    return {name: table.pop(name)[order] for name in tuple(table)}


def build_device_work(
    events: EventColumns, slices: OrderedSlices, work: DeviceWork, locations: WorkLocations
) -> pl.DataFrame:
    """The ``device_work`` table."""
    details, launch = events.tables.pop("device"), work.launch
    ids, row = neighbours(work.ids), locations.row
    delay = rows_at(slices.start_ns, ids) - slices.start_ns[launch]
    np.maximum(delay, 0, out=delay)
    delay[launch < 0] = ABSENT
    columns: dict[str, npt.NDArray[Any]] = {
        "slice": work.ids,
        "category": rows_at(slices.category, ids),
        "name_code": rows_at(slices.name_code, ids),
        "start_ns": rows_at(slices.start_ns, ids),
        "dur_ns": rows_at(slices.dur_ns, ids),
        "device": locations.device,
        "stream": locations.stream,
        "launch": launch,
        "owner": work.owner,
        "node": work.node,
        "orphan_reason": _orphan_reason(work),
        "launch_delay_ns": delay,
    }
    del delay
    absent = {"device": int(ABSENT), "stream": int(ABSENT), "launch_delay_ns": int(ABSENT)}
    absent |= {"launch": NO_LINK, "owner": NO_LINK, "node": NO_LINK}
    is_missing = None if isinstance(row, slice) or (row >= 0).all() else row < 0
    for name, dtype in DEVICE_COLUMNS.items():
        if name in columns:
            continue
        marker = absent_marker(name, details)
        values, missing = details.pop(name), np.nan if marker is None else marker
        if not len(values):
            values = constant(missing, 1, dtype)
        columns[name] = rows_at(values, row)
        if is_missing is not None:
            columns[name] = np.where(is_missing, missing, columns[name]).astype(dtype, copy=False)
        if marker is not None:
            absent[name] = marker
    reason = columns.pop("orphan_reason")
    columns["orphan_reason"] = constant(-1, len(reason), np.int8)
    frame = to_frame(columns, {**DEVICE_WORK, "orphan_reason": pl.Int8}, absent)
    if not reason.any():
        return frame.with_columns(orphan_reason=pl.lit(None, pl.String))
    reasons = pl.Series(_ORPHAN_REASONS, dtype=pl.String)
    return frame.with_columns(reasons.gather(reason).alias("orphan_reason"))


def drop_impossible_measures(work: pl.DataFrame, quality: QualityReport) -> pl.DataFrame:
    """``device_work`` with null for impossible blocks per multiprocessor and occupancies: not
    finite, negative, beyond the maximum, or occupancy 0 of a kernel whose warps alone exceed what
    rounding can hide (``docs/metrics.md#gpus``); and for sizes of copies below zero. ``quality``
    counts the kernels and copies."""
    if all(work[key].null_count() == work.height for key in MEASURES):
        return work
    blocks, occupancy, warps = (pl.col(key) for key in (*LAUNCH_MEASURES, "warps_per_sm"))
    filled = warps.is_finite() & (warps / MAX_WARPS_PER_SM * 100 >= ROUNDED_AWAY_PCT)
    possible = {
        "blocks_per_sm": blocks.is_between(0, MAX_BLOCKS_PER_SM),
        "est_achieved_occupancy_pct": occupancy.is_between(0, 100)
        & ~((occupancy == 0) & filled.fill_null(False)),
        "bytes": pl.col("bytes") >= 0,
    }
    checked = work.with_columns(
        pl.when(is_possible).then(pl.col(key)).alias(key) for key, is_possible in possible.items()
    )
    lost = pl.any_horizontal(work[key].is_not_null() & checked[key].is_null() for key in MEASURES)
    quality.add("impossible_measure", int(work.select(lost.sum()).item()))
    return checked


def _orphan_reason(work: DeviceWork) -> Int8:
    """Per piece of work the index of its reason in :data:`_ORPHAN_REASONS`."""
    without_launch = np.where(work.is_ambiguous, np.int8(2), np.int8(1))
    reason: Int8 = np.where(work.launch >= 0, np.int8(3), without_launch)
    return reason * (work.owner < 0)


def build_operators(events: EventColumns, slices: OrderedSlices) -> pl.DataFrame:
    """The ``operators`` table, with the forward operator of each backward node."""
    table = by_slice(events.tables.pop("operator"), slices.new_id)
    forward = match_forward_operators(events, slices, table)
    return table_to_frame(table).with_columns(nullable("forward", forward))


def count_shared_memory(
    memory: ColumnArrays, slices: OrderedSlices, quality: QualityReport
) -> None:
    """Count in ``quality`` the devices that several processes allocate on."""
    if not slices.has_several_processes:
        return
    process = slices.process_of_track[memory["track"]]
    _, device = dense_pair_ids(memory["device_type"], memory["device"])
    one, _ = dense_pair_ids(device, process)
    shared = np.bincount(device[one][process[one] != NO_PROCESS]) > 1
    quality.add("memory_of_several_processes", int(shared.sum()))


def build_memory(
    events: EventColumns, nodes: Forest, frames: Forest, absorber: Int64
) -> pl.DataFrame:
    """The ``memory`` table in time order, with the innermost node and python frame around each
    event."""
    table = events.tables.pop("memory")
    if (table["time_ns"][1:] < table["time_ns"][:-1]).any():
        order = np.argsort(table["time_ns"], kind="stable")
        for name in table:
            table[name] = table[name][order]
    owner = resolve(absorber, nodes.innermost(table["track"], table["time_ns"]))
    frame = frames.innermost(table["track"], table["time_ns"])
    return table_to_frame(table).with_columns(nullable("owner", owner), nullable("frame", frame))
