"""Integers of a piece of a table in as few bytes as they need, while they travel and wait.

Times of neighbouring rows differ by less than the numbers are large, and many columns hold one
value only: a fifth of the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.constants import is_constant

NARROW: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)


class Packed(NamedTuple):
    """Integers as what they are more than the least of them.

    Attributes:
        size: How many there are.
        least: The least of them, less one where 0 stands for :data:`ABSENT`; the value itself where
            all are the same.
        offsets: What each is more; None where all are the same.
        has_absent: Whether an offset of 0 is :data:`ABSENT`.
    """

    size: int
    least: int
    offsets: npt.NDArray[Any] | None
    has_absent: bool

    def put(self, target: Int64) -> None:
        """Write the integers to an array of their size."""
        if self.offsets is None:
            target[:] = self.least
            return
        np.add(self.offsets, self.least, out=target, dtype=np.int64, casting="unsafe")
        if self.has_absent:
            target[self.offsets == 0] = ABSENT


def packed(values: Int64) -> Packed:
    """Integers in as few bytes as they need."""
    size = len(values)
    if is_constant(values):
        return Packed(size, int(values[0]), None, False)
    low, high = (int(values.min()), int(values.max())) if size else (0, 0)
    has_absent = low == ABSENT != high
    if low == high:
        return Packed(size, low, None, False)
    if has_absent:
        low = int(np.where(values == ABSENT, high, values).min()) - 1
    narrow = next((each for each in NARROW if high - low <= np.iinfo(each).max), None)
    if narrow is None or low <= ABSENT:
        return Packed(size, 0, values, False)
    offsets = (values - low).astype(narrow)
    if has_absent:
        offsets[values == ABSENT] = 0
    return Packed(size, low, offsets, has_absent)


def unpacked(parts: Sequence[Packed]) -> Int64:
    """The integers of all parts, one behind the other."""
    values = np.empty(sum(part.size for part in parts), np.int64)
    first = 0
    for part in parts:
        part.put(values[first : first + part.size])
        first += part.size
    return values
