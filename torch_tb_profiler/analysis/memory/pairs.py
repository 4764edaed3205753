"""Which release frees which allocation: by device and address, in order of time."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int64

NEVER = np.iinfo(np.int64).max
"""The ``end`` of an allocation that nothing in the file ends."""


class Pairs(Struct, frozen=True, eq=False):
    """What became of each memory record; positions are rows of the records.

    Attributes:
        release: Of an allocation, its release; -1 if there is none, and for releases.
        allocation: Of a release, its allocation; -1 if there is none, and for allocations.
        end: Of an allocation, the record after which it is no longer alive: its release, or the
            next allocation at its place when the release is missing; :data:`NEVER` if it stays.
        reused: Allocations whose place was allocated again without a release in between.
    """

    release: Int64
    allocation: Int64
    end: Int64
    reused: Bools


def pair(device: Int64, address: Int64, size_bytes: Int64, usable: Bools) -> Pairs:
    """Pair releases with allocations (``docs/views-memory.md#how-it-is-counted``).

    Args:
        device: Device of each record, any numbers; records are in order of time.
        address: Address of each.
        size_bytes: Size of each, negative for releases; 0 is neither.
        usable: Records that have an address at all.
    """
    count = len(device)
    result = Pairs(
        np.full(count, -1, np.int64),
        np.full(count, -1, np.int64),
        np.full(count, NEVER, np.int64),
        np.zeros(count, np.bool_),
    )
    rows = np.flatnonzero(usable & (size_bytes != 0))
    rows = rows[np.lexsort((rows, address[rows], device[rows]))]
    here, following = rows[:-1], rows[1:]
    same_address = (device[here] == device[following]) & (address[here] == address[following])
    from_allocation = same_address & (size_bytes[here] > 0)
    ends = from_allocation & (size_bytes[following] < 0)
    result.release[here[ends]] = following[ends]
    result.allocation[following[ends]] = here[ends]
    result.end[here[from_allocation]] = following[from_allocation]
    result.reused[here[from_allocation & ~ends]] = True
    return result
