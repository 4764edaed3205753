"""The course of the memory of a device, and its peak."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.memory.records import MemoryRecords
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64


class MemoryCurve(Struct, frozen=True, eq=False):
    """Totals of one device over time; each value holds until the next.

    Attributes:
        record: The record behind each point.
        time_ns: When; a stretch of the selection begins with the value carried into it.
        allocated_bytes: Live allocations.
        reserved_bytes: Held by the allocator; :data:`ABSENT` where not given.
    """

    record: Int64
    time_ns: Int64
    allocated_bytes: Int64
    reserved_bytes: Int64

    @property
    def fragmentation_bytes(self) -> Int64:
        """Reserved less allocated at each point; :data:`ABSENT` where not given."""
        gap = np.maximum(self.reserved_bytes - self.allocated_bytes, 0)
        fragmentation: Int64 = np.where(self.reserved_bytes == ABSENT, ABSENT, gap)
        return fragmentation

    def peak(self) -> int | None:
        """The point of the first largest ``allocated_bytes``; None without points."""
        return int(np.argmax(self.allocated_bytes)) if len(self.record) else None


def curve(records: MemoryRecords, device: int, chosen: Bools, stretches: Intervals) -> MemoryCurve:
    """The course of one device over the chosen records, in each of ``stretches`` (the selection's
    time) from the value it had before. Where no record is chosen, that value holds to the end."""
    rows = np.flatnonzero((records.device == device) & records.has_totals)
    time = records.time_ns[rows]
    start, end = stretches
    carried = np.searchsorted(time, start) - 1
    at_or_after = np.append(time, np.iinfo(np.int64).max)[carried + 1]
    begins_with_record = at_or_after == start
    held = np.flatnonzero((carried >= 0) & ~begins_with_record)
    picked = np.flatnonzero(chosen[rows])
    at = np.concatenate((start[held], time[picked]))
    picked = np.concatenate((carried[held], picked))
    if len(held) and len(picked) == len(held) and end[held[-1]] != np.iinfo(np.int64).max:
        at, picked = np.append(at, end[held[-1]]), np.append(picked, picked[-1])
    order = np.argsort(at, kind="stable")
    at, rows = at[order], rows[picked[order]]
    return MemoryCurve(rows, at, records.allocated_bytes[rows], records.reserved_bytes[rows])
