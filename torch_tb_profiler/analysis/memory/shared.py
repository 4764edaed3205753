"""Records of memory that no allocator counts: batches that loader workers hand over.

Torch maps the shared memory of a batch and reports it as memory of the CPU with a total of 0, which
is none (``MapAllocator`` in pytorch's ``aten/src/ATen/MapAllocator.cpp``). Some allocators of
devices report totals of 0 throughout.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra.forests import gather
from torch_tb_profiler.analysis.memory.pairs import Pairs
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64


def uncounted(device_key: Int64, size_bytes: Int64, allocated_bytes: Int64, pairs: Pairs) -> Bools:
    """Mask of the records whose total of 0 is none.

    An allocation leaves more than 0. A release may leave 0: it is none where it frees such an
    allocation, or none that is known (of a mapping that others hold too it names no address) while
    the records of the allocator around it say that something was left.

    Args:
        place: Allocator of each record, any numbers; records are in order of time.
        size_bytes: Size of each, negative for releases.
        allocated_bytes: Total after each, :data:`ABSENT` where not given.
        pairs: Which release frees which allocation.
    """
    is_zero = allocated_bytes == 0
    is_uncounted = is_zero & (size_bytes > 0)
    frees_uncounted = gather(is_uncounted.astype(np.int64), pairs.allocation) == 1
    is_lone = is_zero & (size_bytes <= 0) & (pairs.allocation < 0)
    counted = ~is_zero & (allocated_bytes != ABSENT)
    before, after = _neighbours(device_key, counted)
    left = gather(allocated_bytes, before) + size_bytes
    known_after = gather(allocated_bytes - size_bytes, after)
    has_neighbour = (before >= 0) | (after >= 0)
    says_zero = ((before >= 0) & (left == 0)) | ((after >= 0) & (known_after == 0))
    mask: Bools = (
        is_uncounted | (is_zero & frees_uncounted) | (is_lone & has_neighbour & ~says_zero)
    )
    return mask


def _neighbours(device_key: Int64, marked: Bools) -> tuple[Int64, Int64]:
    """Per record the nearest marked one of its place before it, and after it; -1 for none."""
    count = len(device_key)
    order = np.argsort(device_key, kind="stable")
    at = np.where(marked[order], np.arange(count), -1)
    last = np.maximum.accumulate(at) if count else at
    at = np.where(marked[order], np.arange(count), count)
    following = np.minimum.accumulate(at[::-1])[::-1] if count else at
    row = np.append(order, -1)
    before, after = np.empty(count, np.int64), np.empty(count, np.int64)
    before[order] = row[last]
    after[order] = row[np.where(following < count, following, -1)]
    same = np.append(device_key, device_key.min(initial=0) - 1)
    return (
        np.where(same[before] == device_key, before, -1),
        np.where(same[after] == device_key, after, -1),
    )
