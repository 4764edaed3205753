"""Which allocations are alive at a moment."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.memory.records import MemoryRecords
from torch_tb_profiler.trace.columns import Bools


def last_record(records: MemoryRecords, time_ns: int) -> int:
    """The last record at ``time_ns`` or before it, -1 for none."""
    return int(np.searchsorted(records.time_ns, time_ns, side="right")) - 1


def live_after(records: MemoryRecords, device: int, record: int) -> Bools:
    """Mask of the allocations of a device that are alive right after a record (of any device; -1
    is before all). One pass over the records: 2 ms for a million."""
    count = max(record + 1, 0)
    mask = np.zeros(len(records.device), np.bool_)
    mask[:count] = (
        (records.device[:count] == device)
        & (records.size_bytes[:count] > 0)
        & (records.pairs.end[:count] > record)
    )
    return mask


def total_after(records: MemoryRecords, device: int, record: int) -> int | None:
    """What the allocator of a device says is allocated right after a record: its last total until
    then, else what was there before its first one; None where it gives no totals."""
    rows = np.flatnonzero((records.device == device) & records.has_totals)
    if not len(rows):
        return None
    before = int(np.searchsorted(rows, record, side="right")) - 1
    if before >= 0:
        return int(records.allocated_bytes[rows[before]])
    first = rows[0]
    return max(int(records.allocated_bytes[first] - records.size_bytes[first]), 0)
