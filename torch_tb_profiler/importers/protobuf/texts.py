"""Ranges of bytes → codes of the distinct ones: each distinct text is made once.

Short ranges are hashed eight bytes at a time, all at once, and compared with the range that
stands for their hash, so that two texts with one hash stay two. Long ones are few, and are looked
up one by one.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.protobuf.varints import UInt64
from torch_tb_profiler.importers.protobuf.wire import Wire
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64

SHORT_BYTES = 128
SAMPLE = 1024
"""Most texts are the same few again: so many are looked at before all are."""

DIGITS = 18
"""Decimal numbers of so many digits fit into 64 bits, whatever the digits are."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_ZERO, _NINE = np.uint8(ord("0")), np.uint8(9)


def distinct_ranges(wire: Wire, start: Int64, end: Int64) -> tuple[Int32, list[bytes]]:
    """A code per range, and the bytes behind each code.

    Args:
        wire: The buffer.
        start: Where each begins; :data:`ABSENT` for none, whose code is -1.
        end: Where each ends.
    """
    codes = np.full(start.size, -1, np.int32)
    size = end - start
    is_there = start != ABSENT
    is_short = is_there & (size <= SHORT_BYTES)
    rows = np.flatnonzero(is_short)
    codes[rows], firsts = _short_codes(wire.words, start[rows], size[rows])
    kept = rows[firsts]
    data = wire.data
    texts = [data[a:b] for a, b in zip(start[kept].tolist(), end[kept].tolist(), strict=True)]
    others = np.flatnonzero(is_there & ~is_short)
    wrong = rows[_differ(wire.words, start, size, rows, kept[codes[rows]])]
    others = np.concatenate([others, wrong])
    if others.size:
        known = {text: code for code, text in enumerate(texts)}
        for row, a, b in zip(
            others.tolist(), start[others].tolist(), end[others].tolist(), strict=True
        ):
            codes[row] = known.setdefault(data[a:b], len(known))
        texts = list(known)
    return codes, texts


def distinct_texts(wire: Wire, start: Int64, end: Int64) -> tuple[Int32, list[str]]:
    """The same as text; bytes that are no UTF-8 become U+FFFD."""
    codes, texts = distinct_ranges(wire, start, end)
    return codes, [text.decode("utf-8", "replace") for text in texts]


def _short_codes(words: UInt64, start: Int64, size: Int64) -> tuple[Int32, Int64]:
    """Codes by hash, and a row that stands for each."""
    if not start.size:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    hashed = size.astype(np.uint64) * _FACTOR
    at, left = start, size
    rows: Int64 | None = None  # all of them, until some end
    for _ in range(int(size.max() + 7) // 8):
        word = words[at] & _MASKS[np.minimum(left, 8)]
        before = hashed if rows is None else hashed[rows]
        mixed = (before ^ word) * _FACTOR
        mixed ^= mixed >> _SHIFT
        if rows is None:
            hashed, rows = mixed, np.arange(start.size)
        else:
            hashed[rows] = mixed
        goes_on = left > 8
        rows, at, left = rows[goes_on], at[goes_on] + 8, left[goes_on] - 8
    distinct = np.unique(hashed[:SAMPLE])
    codes = np.searchsorted(distinct, hashed)
    is_new = distinct[np.minimum(codes, distinct.size - 1)] != hashed
    if is_new.any():
        distinct = np.union1d(distinct, hashed[is_new])
        codes = np.searchsorted(distinct, hashed)
    codes = codes.astype(np.int32)
    firsts = np.empty(distinct.size, np.int64)
    firsts[codes[::-1]] = np.arange(start.size)[::-1]
    return codes, firsts


def _differ(words: UInt64, start: Int64, size: Int64, rows: Int64, stands_for: Int64) -> Bools:
    """Which of ``rows`` are not the same bytes as the row that stands for them."""
    differs: Bools = size[rows] != size[stands_for]
    at, other, left = start[rows], start[stands_for], size[rows]
    index = np.flatnonzero((rows != stands_for) & ~differs)
    at, other, left = at[index], other[index], left[index]
    while index.size:
        masks = _MASKS[np.minimum(left, 8)]
        differs[index] |= (words[at] & masks) != (words[other] & masks)
        goes_on = left > 8
        index, left = index[goes_on], left[goes_on] - 8
        at, other = at[goes_on] + 8, other[goes_on] + 8
    return differs


def decimal_numbers(wire: Wire, start: Int64, end: Int64) -> tuple[Int64, Bools]:
    """Texts that are decimal integers → their values, and which of them are.

    At most :data:`DIGITS` digits, maybe with a minus before; the others are :data:`ABSENT`.
    """
    is_there = start != ABSENT
    at = np.where(is_there, start, 0)
    size = np.where(is_there, end - start, 0)
    is_negative = (size > 1) & (wire.buffer[at] == ord("-"))
    at, size = at + is_negative, size - is_negative
    is_number = (size > 0) & (size <= DIGITS)
    value = np.zeros(start.size, np.int64)
    rows = np.flatnonzero(is_number)
    for place in range(int(size[rows].max(initial=0))):
        rows = rows[size[rows] > place]
        digit = wire.buffer[at[rows] + place] - _ZERO
        is_number[rows] &= digit <= _NINE
        value[rows] = value[rows] * 10 + digit
    value[is_negative] *= -1
    value[~is_number] = ABSENT
    return value, is_number
