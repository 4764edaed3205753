"""How much of each category is alive over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, memory_blocks
from torch_tb_profiler.analysis.memory.curve import MemoryCurve
from torch_tb_profiler.analysis.memory.earlier import Earlier, earlier
from torch_tb_profiler.analysis.memory.pairs import NEVER
from torch_tb_profiler.analysis.memory.records import memory_records
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class _Sums(NamedTuple):
    """What happened to one category of a device: the records, ascending, and the sum of bytes up
    to each, 0 first."""

    record: Int64
    bytes: Int64

    def until(self, after: Int64) -> Int64:
        """The sum up to each record of ``after``."""
        total: Int64 = self.bytes[np.searchsorted(self.record, after, side="right")]
        return total


@per_trace
def _sums(trace: Trace) -> list[list[tuple[_Sums, _Sums]]]:
    """Per device and category what was allocated, and what of it ended; made once."""
    records, category = memory_records(trace), memory_blocks(trace).category
    allocations = np.flatnonzero(records.size_bytes > 0)
    ended = allocations[records.pairs.end[allocations] != NEVER]
    ended = ended[np.argsort(records.pairs.end[ended], kind="stable")]
    key = records.device * len(CATEGORY_NAMES) + category

    def sums_of(number: int) -> tuple[_Sums, _Sums]:
        allocated, gone = allocations[key[allocations] == number], ended[key[ended] == number]
        return _summed(allocated, records.size_bytes[allocated]), _summed(
            records.pairs.end[gone], records.size_bytes[gone]
        )

    count = len(CATEGORY_NAMES)
    return [
        [sums_of(device * count + number) for number in range(count)]
        for device in range(len(records.devices))
    ]


def _summed(record: Int64, size: Int64) -> _Sums:
    return _Sums(record, np.append(0, np.cumsum(size)))


def known_levels(trace: Trace, device: int, after: Int64) -> Int64:
    """Bytes of the allocations of a device that are alive right after each of some records, by
    category: ``[category, record]``.

    Args:
        trace: The trace.
        device: The device.
        after: The records; -1 is before all.
    """
    level_bytes = [
        allocated.until(after) - gone.until(after) for allocated, gone in _sums(trace)[device]
    ]
    return np.array(level_bytes, np.int64).reshape(len(CATEGORY_NAMES), len(after))


def category_levels(known: Int64, total: Int64, before: Earlier) -> Int64:
    """``known`` with what was there before the recording: what the allocator's ``total`` holds
    beyond that. Columns add up to ``total`` where no release is missing."""
    levels: Int64 = known.copy()
    for category, part in before.parts(total - known.sum(axis=0)).items():
        levels[int(category)] += part
    return levels


def levels_at(trace: Trace, device: int, points: MemoryCurve, drawn: Int64) -> tuple[Int64, Int64]:
    """Bytes by category at some points of a curve, with and without what was there before the
    recording: ``[category, point]``."""
    known = known_levels(trace, device, points.record[drawn])
    levels = category_levels(known, points.allocated_bytes[drawn], earlier(trace)[device])
    return levels, known
