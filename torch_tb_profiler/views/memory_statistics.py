"""Memory by operator: how much each allocates, keeps, and how often (peer-behaviour §7.2)."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.forests import Bools, gather, indices, nearest_marked
from torch_tb_profiler.views.memory_records import MemoryRecords
from torch_tb_profiler.views.operator_mask import operator_mask
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.selection import Selection, slice_mask


def _bytes(key: str, title: str, text: str) -> Column:
    return Column(key, title, "integer", "bytes", text)


def _count(key: str, title: str, text: str) -> Column:
    return Column(key, title, "integer", "count", text)


STATISTICS = TableSpec(
    name="memory_stats",
    title="Memory by operator",
    help="One row per device and operator that allocated or released memory on it.",
    columns=(
        Column("device", "Device", "string", None, "Where the memory lies."),
        Column("name", "Operator", "string", None, "Name of the operator."),
        _count("calls", "Calls", "Calls of the operator, also those that touched no memory."),
        _bytes(
            "size_increase_bytes",
            "Size Increase",
            "Allocated less released during the operator, operators it calls included.",
        ),
        _bytes(
            "self_size_increase_bytes",
            "Self Size Increase",
            "Allocated less released by the operator itself.",
        ),
        _count("allocation_count", "Allocations", "Allocations, operators it calls included."),
        _count("self_allocation_count", "Self Allocations", "Allocations of the operator itself."),
        _bytes(
            "allocation_bytes",
            "Allocation Size",
            "Allocated bytes, operators it calls included; releases are not taken off.",
        ),
        _bytes(
            "self_allocation_bytes",
            "Self Allocation Size",
            "Bytes allocated by the operator itself; releases are not taken off.",
        ),
    ),
    sort="-self_size_increase_bytes,name",
)


def statistics_frame(
    trace: Trace, records: MemoryRecords, chosen: Bools, selection: Selection
) -> pl.DataFrame:
    """The rows of :data:`STATISTICS` for the chosen records, by device and name.

    A recursive operator counts what its inner calls allocate once for each call around it.
    """
    counts_itself = operator_mask(trace) & (indices(trace.slices["absorbed_into"]) < 0)
    names = trace.slices["name_code"].to_numpy()
    distinct = np.unique(names[counts_itself])
    dense = np.full(len(names), -1, np.int64)
    dense[counts_itself] = np.searchsorted(distinct, names[counts_itself])
    rows = np.flatnonzero(chosen & (records.operator >= 0))
    sums = _Sums(len(records.devices), len(distinct))
    operator = records.operator[rows]
    sums.add(sums.own, records, rows, dense[operator])
    parent = indices(trace.slices["parent"])
    next_operator = gather(nearest_marked(parent, counts_itself), parent)
    while rows.size:
        sums.add(sums.inclusive, records, rows, dense[operator])
        operator = next_operator[operator]
        rows, operator = rows[operator >= 0], operator[operator >= 0]
    called = counts_itself & _overlapping(trace, selection)
    calls = np.bincount(dense[called], minlength=len(distinct))
    return sums.frame([device.label for device in records.devices], trace, distinct, calls)


def _overlapping(trace: Trace, selection: Selection) -> Bools:
    """Slices of the selected steps that lie at least partly in the time range."""
    mask = slice_mask(trace, Selection(steps=selection.steps))
    start = trace.slices["start_ns"].to_numpy()
    if selection.start_ns is not None:
        mask &= start + trace.slices["dur_ns"].to_numpy() > selection.start_ns
    if selection.end_ns is not None:
        mask &= start < selection.end_ns
    return mask


class _Sums:
    """Size increase, allocation count and allocated bytes by device and operator name."""

    def __init__(self, devices: int, names: int) -> None:
        self.own = np.zeros((3, devices, names), np.int64)
        self.inclusive = np.zeros((3, devices, names), np.int64)

    @staticmethod
    def add(into: Int64, records: MemoryRecords, rows: Int64, name: Int64) -> None:
        """Add records ``rows``, each to operator name number ``name``."""
        place = (records.device[rows], name)
        size = records.size_bytes[rows]
        np.add.at(into[0], place, size)
        np.add.at(into[1], place, size > 0)
        np.add.at(into[2], place, np.maximum(size, 0))

    def frame(self, devices: list[str], trace: Trace, names: Int64, calls: Int64) -> pl.DataFrame:
        """One row per device and name with a number other than 0."""
        touched = self.own.any(axis=0) | self.inclusive.any(axis=0)
        device, name = np.nonzero(touched)
        own, inclusive = self.own[:, device, name], self.inclusive[:, device, name]
        texts = [trace.text(code) for code in names[name].tolist()]
        return pl.DataFrame(
            {
                "device": [devices[index] for index in device],
                "name": texts,
                "calls": calls[name],
                "size_increase_bytes": inclusive[0],
                "self_size_increase_bytes": own[0],
                "allocation_count": inclusive[1],
                "self_allocation_count": own[1],
                "allocation_bytes": inclusive[2],
                "self_allocation_bytes": own[2],
            },
            schema=STATISTICS.polars_schema(),
        )
