"""Memory by operator: how much each allocates, keeps, and how often."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.memory.owners import UNKNOWN_OPERATOR
from torch_tb_profiler.analysis.memory.records import MemoryRecords
from torch_tb_profiler.analysis.operators.mask import operator_mask
from torch_tb_profiler.analysis.operators.recursion import same_name_around
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask, time_range
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, TableSpec
from torch_tb_profiler.views.shares import schema_before, share_columns


def _bytes(key: str, title: str, text: str, *, additive: bool = False) -> Column:
    return Column(key, title, "integer", "bytes", text, family="size", additive=additive)


def _count(key: str, title: str, text: str, *, additive: bool = False) -> Column:
    return Column(key, title, "integer", "count", text, additive=additive)


STATISTICS = TableSpec(
    name="memory_stats",
    title="Memory by operator",
    help="One row per device and operator that allocated or released memory on it. Memory events "
    "outside operators have a row too, so that the self columns add up to the total.",
    columns=(
        Column("device", "Device", "string", None, "Device that holds the memory."),
        Column("name", "Operator", "string", None, "Name of the operator."),
        _count("calls", "Calls", "Calls of the operator, including those without memory events."),
        _bytes(
            "alive_bytes",
            "Still Allocated",
            "Allocated by the operator itself in the selection and not released by the end of it.",
            additive=True,
        ),
        _bytes(
            "size_increase_bytes",
            "Size Increase",
            "Allocated minus released bytes during the operator, including the operators it calls.",
        ),
        _bytes(
            "self_size_increase_bytes",
            "Self Size Increase",
            "Allocated minus released bytes of the operator itself, whichever operator allocated "
            "the released blocks.",
            additive=True,
        ),
        _count(
            "allocation_count",
            "Allocations",
            "Allocations, including those of the operators it calls.",
        ),
        _count(
            "self_allocation_count",
            "Self Allocations",
            "Allocations of the operator itself.",
            additive=True,
        ),
        _bytes(
            "allocation_bytes",
            "Allocation Size",
            "Allocated bytes, including those of the operators it calls; releases are not "
            "subtracted.",
        ),
        _bytes(
            "self_allocation_bytes",
            "Self Allocation Size",
            "Bytes allocated by the operator itself; releases are not subtracted.",
            additive=True,
        ),
        *share_columns(
            "Self Allocation Size", "all bytes allocated on the device", of_all_rows=False
        ),
    ),
    sort="-alive_bytes,-self_size_increase_bytes,name",
)


def statistics_frame(
    trace: Trace, records: MemoryRecords, chosen: Bools, selection: Selection
) -> pl.DataFrame:
    """The rows of :data:`STATISTICS` for the chosen records, by device and name; what a recursive
    operator allocates counts once."""
    known = _operators(trace)
    nobody = len(known.distinct)
    rows = np.flatnonzero(chosen)
    sums = _Sums(len(records.devices), nobody + 1)
    operator = records.operator[rows]
    name = np.where(operator >= 0, gather(known.row, operator), nobody)
    sums.add(sums.own, records, rows, name)
    sums.add_live(records, rows, name)
    outside = operator < 0
    sums.add(sums.inclusive, records, rows[outside], name[outside])
    rows, operator = rows[~outside], operator[~outside]
    while rows.size:
        first = known.is_outermost[operator]
        sums.add(sums.inclusive, records, rows[first], known.row[operator[first]])
        operator = known.above[operator]
        rows, operator = rows[operator >= 0], operator[operator >= 0]
    called = known.row[(known.row >= 0) & _overlapping(trace, selection)]
    calls: list[int | None] = [*np.bincount(called, minlength=nobody).tolist(), None]
    names = [trace.text(code) for code in known.distinct.tolist()]
    frame = sums.frame([one.label for one in records.devices], [*names, UNKNOWN_OPERATOR], calls)
    if records.has_addresses:
        return frame
    return frame.with_columns(pl.lit(None, pl.Int64).alias("alive_bytes"))


class _Operators(Struct, frozen=True, eq=False):
    """The operators that count by themselves, as those absorbed by another do not.

    Attributes:
        distinct: Codes of their names.
        row: Per slice the position of its name there, -1 for what is no such operator.
        above: Per slice the innermost such operator around it, -1 for none.
        is_outermost: Mask of the slices with no such operator of their name around them.
    """

    distinct: Int64
    row: Int64
    above: Int64
    is_outermost: Bools


@per_trace
def _operators(trace: Trace) -> _Operators:
    counts_itself = operator_mask(trace) & (indices(trace.slices["absorbed_into"]) < 0)
    names = trace.slices["name_code"].to_numpy()
    distinct, inverse = factorize(names[counts_itself])
    row = np.full(len(names), -1, np.int64)
    row[counts_itself] = inverse
    parent = indices(trace.slices["parent"])
    above = gather(nearest_marked(parent, counts_itself), parent)
    is_outermost = np.ones(len(names), np.bool_)
    is_outermost[counts_itself] = same_name_around(trace) < 0
    return _Operators(distinct, row, above, is_outermost)


def _overlapping(trace: Trace, selection: Selection) -> Bools:
    """Slices of the selected steps that lie at least partly in the time range."""
    mask: Bools = slice_mask(trace, Selection(steps=selection.steps)).copy()
    start = trace.slices["start_ns"].to_numpy()
    first_ns, last_ns = time_range(trace, selection)
    if first_ns is not None:
        mask &= start + trace.slices["dur_ns"].to_numpy() > first_ns
    if last_ns is not None:
        mask &= start < last_ns
    return mask


class _Sums:
    """Size increase, allocation count and allocated bytes by device and operator name, and what
    of the allocations is alive at the end."""

    def __init__(self, devices: int, names: int) -> None:
        self._names = names
        self.own = np.zeros((3, devices * names), np.int64)
        self.inclusive = np.zeros((3, devices * names), np.int64)
        self._live = np.zeros(devices * names, np.int64)

    def add(self, into: Int64, records: MemoryRecords, rows: Int64, name: Int64) -> None:
        """Add records ``rows``, each to operator name number ``name``."""
        group = records.device[rows] * self._names + name
        size = records.size_bytes[rows]
        np.add.at(into[0], group, size)
        np.add.at(into[1], group, (size > 0).astype(np.int64))
        np.add.at(into[2], group, np.maximum(size, 0))

    def add_live(self, records: MemoryRecords, rows: Int64, name: Int64) -> None:
        """Add to each name what is alive after the last of ``rows``."""
        group = records.device[rows] * self._names + name
        is_live = records.pairs.end[rows] > rows.max(initial=-1)
        np.add.at(self._live, group, np.maximum(records.size_bytes[rows], 0) * is_live)

    def frame(
        self, devices: list[str], names: list[str | None], calls: list[int | None]
    ) -> pl.DataFrame:
        """One row per device and name with a number other than 0."""
        touched = np.flatnonzero(self.own.any(axis=0) | self.inclusive.any(axis=0))
        device, name = np.divmod(touched, self._names)
        own, inclusive = self.own[:, touched], self.inclusive[:, touched]
        return pl.DataFrame(
            {
                "device": [devices[index] for index in device],
                "name": [names[index] for index in name],
                "calls": [calls[index] for index in name],
                "alive_bytes": self._live[touched],
                "size_increase_bytes": inclusive[0],
                "self_size_increase_bytes": own[0],
                "allocation_count": inclusive[1],
                "self_allocation_count": own[1],
                "allocation_bytes": inclusive[2],
                "self_allocation_bytes": own[2],
            },
            schema=schema_before(STATISTICS),
        )
