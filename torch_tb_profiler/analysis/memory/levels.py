"""How much of each category is alive over time."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.memory.categories import CATEGORY_NAMES, Blocks, memory_blocks
from torch_tb_profiler.analysis.memory.curve import Curve
from torch_tb_profiler.analysis.memory.earlier import Earlier, earlier
from torch_tb_profiler.analysis.memory.pairs import NEVER
from torch_tb_profiler.analysis.memory.records import MemoryRecords, memory_records
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace


def known_levels(records: MemoryRecords, blocks: Blocks, device: int, after: Int64) -> Int64:
    """Bytes of the allocations of a device that are alive right after each of some records, by
    category: ``[category, record]``.

    Args:
        records: The records.
        blocks: Their categories.
        device: The device.
        after: The records, ascending; -1 is before all.
    """
    made = np.flatnonzero((records.device == device) & (records.size_bytes > 0))
    size, category = records.size_bytes[made], blocks.category[made]
    end = records.pairs.end[made]
    levels = np.zeros((len(CATEGORY_NAMES), len(after)), np.int64)
    for number in range(len(CATEGORY_NAMES)):
        of = category == number
        ended = of & (end != NEVER)
        order = np.argsort(end[ended], kind="stable")
        levels[number] = _until(made[of], size[of], after)
        levels[number] -= _until(end[ended][order], size[ended][order], after)
    return levels


def _until(record: Int64, size: Int64, after: Int64) -> Int64:
    """The sum of ``size`` of what happened at ``record`` (ascending) up to each of ``after``."""
    sums = np.append(0, np.cumsum(size))
    total: Int64 = sums[np.searchsorted(record, after, side="right")]
    return total


def category_levels(known: Int64, total: Int64, before: Earlier) -> Int64:
    """``known`` with what was there before the recording: what the allocator's ``total`` holds
    beyond that. Columns add up to ``total`` where no release is missing."""
    levels: Int64 = known.copy()
    for category, part in before.parts(total - known.sum(axis=0)).items():
        levels[int(category)] += part
    return levels


def levels_at(trace: Trace, device: int, points: Curve, drawn: Int64) -> tuple[Int64, Int64]:
    """Bytes by category at some points of a curve, with and without what was there before the
    recording: ``[category, point]``."""
    records = memory_records(trace)
    after = points.record[drawn]
    # The points of a curve need not be in order of records where stretches repeat a value.
    order = np.argsort(after, kind="stable")
    known = np.empty((len(CATEGORY_NAMES), len(drawn)), np.int64)
    known[:, order] = known_levels(records, memory_blocks(trace), device, after[order])
    levels = category_levels(known, points.allocated_bytes[drawn], earlier(trace)[device])
    return levels, known
