"""Lists of frames that entries write down, told apart by their bytes, many at once.

Two of three bytes of a snapshot are such lists, and a few thousand of them are distinct: a hash of
each is computed in lockstep, and only what has another hash than all before is looked at itself.
"""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.snapshot.stacks import NO_STACK, Stacks
from torch_tb_profiler.trace.columns import Int64

Words = npt.NDArray[np.uint64]

NO_LIST = -2
MAX_BODY_BYTES = 16 << 10
"""Longer ones are read opcode by opcode."""

MASKS: Words = ((1 << (8 * np.arange(9, dtype=object))) - 1).astype(np.uint64)
"""The first n bytes of a word, n from 0 to 8."""

_AT_ONCE = 1024
_SHIFT = np.uint64(32)
_FACTORS: Words = np.frombuffer(secrets.token_bytes(MAX_BODY_BYTES + 32), "<u8") | np.uint64(1)
"""Others in each process: no file can be made so that two of its lists have one hash."""


class FrameLists:
    """The distinct lists of one snapshot.

    Args:
        stacks: Where they are counted.
    """

    def __init__(self, stacks: Stacks) -> None:
        self._stacks = stacks
        self._hashes: Words = np.zeros(1, np.uint64)  # ascending; 0 is that of nothing
        self._numbers = np.full(1, NO_STACK)

    def numbers(self, data: bytes, start: Int64, end: Int64) -> Int64:
        """The number of each list (:meth:`Stacks.of_body`), :data:`NO_STACK` for one too many,
        :data:`NO_LIST` where there is something else.

        Args:
            data: A window.
            start, end: Where each list begins and ends, eight bytes before the window does.
        """
        numbers = np.full(len(start), NO_LIST)
        fit = np.flatnonzero(end - start <= MAX_BODY_BYTES)
        start, end = start[fit], end[fit]
        hashes = _hashes(data, start, end - start)
        place, is_known = self._known(hashes)
        if not is_known.all():
            unknown = np.flatnonzero(~is_known)
            new, first, count = np.unique(hashes[unknown], return_index=True, return_counts=True)
            places = unknown[first]
            self._learn(data, new, start[places], end[places], count)
            place, is_known = self._known(hashes)
        numbers[fit] = np.where(is_known, self._numbers[place], NO_STACK)
        return numbers

    def _known(self, hashes: Words) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Where hashes stand among the known ones, and which do."""
        place = np.searchsorted(self._hashes[1:], hashes, "right")
        return place, self._hashes[place] == hashes

    def _learn(self, data: bytes, new: Words, start: Int64, end: Int64, count: Int64) -> None:
        """Look at lists that were not met before."""
        of_body = self._stacks.of_body
        found = [
            of_body(data[first:last], times)
            for first, last, times in zip(start.tolist(), end.tolist(), count.tolist(), strict=True)
        ]
        numbers = np.array([NO_LIST if number is None else number for number in found])
        kept = numbers != NO_STACK
        hashes = np.concatenate((self._hashes, new[kept]))
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._numbers = np.concatenate((self._numbers, numbers[kept]))[order]


def _hashes(data: bytes, start: Int64, length: Int64) -> Words:
    """A hash of each stretch of bytes: of its words, each mixed, times a number of its place."""
    hashes = np.empty(len(start), np.uint64)
    count = (length + 7) >> 3
    order = np.argsort(count, kind="stable")
    ends: Int64 = np.flatnonzero(np.diff(count[order], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        for at in range(begin, end, _AT_ONCE):
            rows = order[at : min(at + _AT_ONCE, end)]
            hashes[rows] = _hashes_of_part(data, start[rows], length[rows], int(count[rows[0]]))
        begin = end
    return hashes


def _hashes_of_part(data: bytes, start: Int64, length: Int64, count: int) -> Words:
    """Of stretches that have as many words. So many at a time fit into a processor's cache."""
    if not count:
        return np.ones(len(start), np.uint64)
    stretches = np.ndarray((len(data) - 8 * count + 1,), f"V{8 * count}", data, strides=(1,))
    words: Words = stretches[start].view("<u8").reshape(-1, count)
    words[:, -1] &= MASKS[(length - 1) % 8 + 1]
    words *= _FACTORS[-1]
    words ^= words >> _SHIFT
    words *= _FACTORS[-2]
    words *= _FACTORS[:count]
    hashes: Words = words.sum(axis=1) + length.astype(np.uint64) * _FACTORS[-3]
    hashes[hashes == 0] = 1
    return hashes
