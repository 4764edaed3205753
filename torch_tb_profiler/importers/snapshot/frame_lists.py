"""Distinct lists of frames in entries, identified by their bytes, vectorized.

Two thirds of a snapshot are such lists, of which a few thousand are distinct: their hashes are
computed in lockstep, and only lists with a new hash are examined individually.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks
from torch_tb_profiler.trace.columns import Int64

Words = npt.NDArray[np.uint64]

NO_LIST = -2
MAX_LIST_BYTES = 16 << 10
"""Longer lists are read opcode by opcode."""

MASKS: Words = ((1 << (8 * np.arange(9, dtype=object))) - 1).astype(np.uint64)
"""The first n bytes of a word, n from 0 to 8."""

_BATCH_ROWS = 1024
_SHIFT = np.uint64(32)
_FACTORS: Words = np.frombuffer(secrets.token_bytes(MAX_LIST_BYTES + 32), "<u8") | np.uint64(1)
"""Random in each process, so that no file can be crafted with colliding lists."""


class FrameLists:
    """The distinct lists of one snapshot.

    Args:
        stacks: Assigns the numbers of lists.
    """

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._hashes: Words = np.zeros(1, np.uint64)  # ascending; 0 is a sentinel
        self._numbers = np.full(1, NO_STACK)

    def numbers(self, data: bytes, start: Int64, end: Int64) -> Int64:
        """The number of each list (:meth:`Stacks.list_number`); :data:`NO_STACK` beyond the limit,
        :data:`NO_LIST` for anything else than a list of references.

        Args:
            data: A window of the stream.
            start, end: Start and end of each list, at least eight bytes before the window's end.
        """
        numbers = np.full(len(start), NO_LIST)
        fit = np.flatnonzero(end - start <= MAX_LIST_BYTES)
        start, end = start[fit], end[fit]
        hashes = _hashes(data, start, end - start)
        index, is_known = self._lookup(hashes)
        if not is_known.all():
            unknown = np.flatnonzero(~is_known)
            new, first, count = np.unique(hashes[unknown], return_index=True, return_counts=True)
            rows = unknown[first]
            self._add(data, new, start[rows], end[rows], count)
            index, is_known = self._lookup(hashes)
        numbers[fit] = np.where(is_known, self._numbers[index], NO_STACK)
        return numbers

    def _lookup(self, hashes: Words) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Index of each hash among the known ones, and which hashes are known."""
        index = np.searchsorted(self._hashes[1:], hashes, "right")
        return index, self._hashes[index] == hashes

    def _add(self, data: bytes, new: Words, start: Int64, end: Int64, count: Int64) -> None:
        """Number new lists."""
        list_number = self._stacks.list_number
        assigned = [
            list_number(data[first:last], times)
            for first, last, times in zip(start.tolist(), end.tolist(), count.tolist(), strict=True)
        ]
        numbers = np.array([NO_LIST if number is None else number for number in assigned])
        is_within_limit = numbers != NO_STACK
        hashes = np.concatenate((self._hashes, new[is_within_limit]))
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._numbers = np.concatenate((self._numbers, numbers[is_within_limit]))[order]


def _hashes(data: bytes, start: Int64, length: Int64) -> Words:
    """A hash of each byte range: the sum of its mixed words, each times a factor of its
    position."""
    hashes = np.empty(len(start), np.uint64)
    count = (length + 7) >> 3
    order = np.argsort(count, kind="stable")
    ends: Int64 = np.flatnonzero(np.diff(count[order], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        for at in range(begin, end, _BATCH_ROWS):
            rows = order[at : min(at + _BATCH_ROWS, end)]
            hashes[rows] = _hashes_of_batch(data, start[rows], length[rows], int(count[rows[0]]))
        begin = end
    return hashes


def _hashes_of_batch(data: bytes, start: Int64, length: Int64, count: int) -> Words:
    """Hashes of ranges with the same number of words; a batch fits into the CPU cache."""
    if not count:
        return np.ones(len(start), np.uint64)
    ranges = np.ndarray((len(data) - 8 * count + 1,), f"V{8 * count}", data, strides=(1,))
    words: Words = ranges[start].view("<u8").reshape(-1, count)
    words[:, -1] &= MASKS[(length - 1) % 8 + 1]
    words *= _FACTORS[-1]
    words ^= words >> _SHIFT
    words *= _FACTORS[-2]
    words *= _FACTORS[:count]
    hashes: Words = words.sum(axis=1) + length.astype(np.uint64) * _FACTORS[-3]
    hashes[hashes == 0] = 1
    return hashes
