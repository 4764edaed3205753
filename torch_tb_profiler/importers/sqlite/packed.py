"""Compact integers: a column is stored as offsets from its minimum, in as few bytes as needed.

Used for columns that are sent between processes or wait to be used. Times in neighbouring rows
differ by little and many columns hold a single value: this needs a fifth of the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant

NARROW: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)


class PackedInts(NamedTuple):
    """Integers as offsets from a base.

    Attributes:
        size: Number of integers.
        base: Their minimum, minus one if offset 0 means :data:`ABSENT`; the value itself if all are
            equal.
        offsets: Difference of each to the base; None if all are equal.
        has_absent: Whether an offset of 0 means :data:`ABSENT`.
    """

    size: int
    base: int
    offsets: npt.NDArray[Any] | None
    has_absent: bool

    def put(self, target: Int64) -> None:
        """Write the integers to an array of the same length."""
        if self.offsets is None:
            target[:] = self.base
            return
        np.add(self.offsets, self.base, out=target, dtype=np.int64, casting="unsafe")
        if self.has_absent:
            target[self.offsets == 0] = ABSENT


def pack(values: Int64) -> PackedInts:
    """Pack integers into as few bytes as they need."""
    size = len(values)
    if is_constant(values):
        return PackedInts(size, int(values[0]), None, False)
    low, high = (int(values.min()), int(values.max())) if size else (0, 0)
    has_absent = low == ABSENT != high
    if low == high:
        return PackedInts(size, low, None, False)
    if has_absent:
        low = int(np.where(values == ABSENT, high, values).min()) - 1
    narrow = next((each for each in NARROW if high - low <= np.iinfo(each).max), None)
    if narrow is None or low <= ABSENT:
        return PackedInts(size, 0, values, False)
    offsets = (values - low).astype(narrow)
    if has_absent:
        offsets[values == ABSENT] = 0
    return PackedInts(size, low, offsets, has_absent)


def unpack(parts: Sequence[PackedInts]) -> Int64:
    """The integers of all parts, concatenated; a constant column if all are equal."""
    filled = [part for part in parts if part.size]
    if filled and all(part.offsets is None and part.base == filled[0].base for part in filled):
        return constant(filled[0].base, sum(part.size for part in filled), np.int64)
    values = np.empty(sum(part.size for part in parts), np.int64)
    first = 0
    for part in parts:
        part.put(values[first : first + part.size])
        first += part.size
    return values
