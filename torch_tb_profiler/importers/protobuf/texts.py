"""Byte ranges → dictionary codes: each distinct text is decoded once.

Short ranges are processed eight bytes at a time, vectorized: ranges of up to eight bytes are
integers themselves; longer ones are hashed and compared with the first range of the same hash, so
that collisions are detected. Long ranges are rare and are looked up one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.protobuf.varints import UInt64
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Occurrences, Wire
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64

SHORT_BYTES = 128
SAMPLE_ROWS = 1024
"""Most texts repeat a few: the distinct ones of this many rows are collected first."""

MAX_DIGITS = 18
"""Every decimal number of so many digits fits into 64 bits."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_TOP, _BYTE = np.uint64(56), np.uint64(8)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_ZERO, _NINE = np.uint8(ord("0")), np.uint8(9)


def distinct_ranges(wire: Wire, start: Int64, end: Int64) -> tuple[Int32, list[bytes]]:
    """Dictionary codes of byte ranges.

    Args:
        wire: The buffer.
        start: Start of each range; :data:`ABSENT` for a missing one, whose code is -1.
        end: End of each range.

    Returns:
        A code per range, and the bytes of each code; those of short ranges in order of their first
        rows.
    """
    codes = np.full(start.size, -1, np.int32)
    size = end - start
    is_present = start != ABSENT
    is_short = is_present & (size <= SHORT_BYTES)
    rows = np.flatnonzero(is_short)
    codes[rows], firsts, collisions = _short_codes(wire.words, start[rows], size[rows])
    first_rows = rows[firsts]
    data = wire.data
    texts = [
        data[a:b] for a, b in zip(start[first_rows].tolist(), end[first_rows].tolist(), strict=True)
    ]
    others = np.concatenate([np.flatnonzero(is_present & ~is_short), rows[collisions]])
    if others.size:
        known = {text: code for code, text in enumerate(texts)}
        for row, a, b in zip(
            others.tolist(), start[others].tolist(), end[others].tolist(), strict=True
        ):
            codes[row] = known.setdefault(data[a:b], len(known))
        texts = list(known)
    return codes, texts


def distinct_texts(wire: Wire, start: Int64, end: Int64) -> tuple[Int32, list[str]]:
    """Dictionary codes of texts, as :func:`distinct_ranges`; invalid UTF-8 becomes U+FFFD."""
    codes, texts = distinct_ranges(wire, start, end)
    return codes, [text.decode("utf-8", "replace") for text in texts]


class LeadingTexts(NamedTuple):
    """Texts that messages begin with.

    Attributes:
        codes: A code per message.
        texts: The text of each code.
        end: End of the text in each message.
    """

    codes: Int32
    texts: list[str]
    end: Int64


def leading_texts(wire: Wire, messages: Occurrences, number: int) -> LeadingTexts | None:
    """The short texts (127 bytes at most) that messages begin with, faster than
    :func:`distinct_texts`.

    Args:
        wire: The buffer.
        messages: The messages.
        number: The number of the text's field, below 16.

    Returns:
        The texts; None if any message does not begin with a short text.
    """
    words = wire.words
    word = words[messages.start]
    length = ((word >> _BYTE) & _MASKS[1]).view(np.int64)
    end = messages.start + 2 + length
    begins = (word & _MASKS[1]) == (number << 3 | DELIMITED)
    if not (begins & (length < 0x80) & (end <= messages.end)).all():
        return None
    head = word & _MASKS[np.minimum(length + 2, 8)]
    rows = np.flatnonzero(length > 6)
    tail = np.zeros(head.size, np.uint64)
    tail[rows] = words[end[rows] - 8]
    codes, firsts = _codes_of_numbers((head * _FACTOR) ^ tail)
    codes, firsts = _by_first_rows(codes, firsts)
    differs = (head != head[firsts][codes]) | (tail != tail[firsts][codes])
    rows = np.flatnonzero(length > 14)  # bytes between head and tail
    representative = firsts[codes[rows]]
    if differs.any() or _differ(words, messages.start, end, rows, representative):
        return LeadingTexts(*distinct_texts(wire, messages.start + 2, end), end)
    data = wire.data
    spans = zip((messages.start[firsts] + 2).tolist(), end[firsts].tolist(), strict=True)
    return LeadingTexts(codes, [data[a:b].decode("utf-8", "replace") for a, b in spans], end)


def _differ(words: UInt64, start: Int64, end: Int64, rows: Int64, representative: Int64) -> bool:
    """Whether any of ``rows`` differs from its representative, a range of the same size, between
    the first and the last eight bytes."""
    at, other, last = start[rows] + 8, start[representative] + 8, end[rows] - 8
    while at.size:
        if (words[at] != words[other]).any():
            return True
        has_more = at + 8 < last
        at, other, last = at[has_more] + 8, other[has_more] + 8, last[has_more]
    return False


def _short_codes(words: UInt64, start: Int64, size: Int64) -> tuple[Int32, Int64, Int64]:
    """Codes of short ranges, the first row of each code, and the rows that collide with it."""
    codes = np.empty(start.size, np.int32)
    firsts: list[Int64] = [np.empty(0, np.int64)]
    collisions: list[Int64] = [np.empty(0, np.int64)]
    count = 0
    needed = (size + 7) >> 3
    for number in np.flatnonzero(np.bincount(needed)).tolist():
        rows = np.flatnonzero(needed == number)
        codes_of_size, first, differs = _codes_of_words(words, start[rows], size[rows], number)
        codes[rows] = codes_of_size + count
        firsts.append(rows[first])
        collisions.append(rows[differs])
        count += first.size
    codes, first = _by_first_rows(codes, np.concatenate(firsts))
    return codes, first, np.concatenate(collisions)


def _by_first_rows(codes: Int32, firsts: Int64) -> tuple[Int32, Int64]:
    """Renumber codes in order of their first rows."""
    order = np.argsort(firsts)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size)
    return rank[codes], firsts[order]


def _codes_of_words(
    words: UInt64, start: Int64, size: Int64, number: int
) -> tuple[Int32, Int64, Int64]:
    """As :func:`_short_codes`, for ranges that all have the same number of words."""
    if number <= 1:
        is_whole = size == 8
        word = words[start] & _MASKS[size]
        codes, firsts = _codes_of_numbers(word ^ (size.astype(np.uint64) << _TOP))
        # Seven bytes and their length fit into a word; eight bytes may collide with them.
        return codes, firsts, np.flatnonzero(is_whole != is_whole[firsts][codes])
    range_words = [words[start + 8 * index] for index in range(number - 1)]
    range_words.append(words[start + (size - 8)])
    hashed = size.astype(np.uint64) * _FACTOR
    for word in range_words:
        hashed ^= word
        hashed *= _FACTOR
        hashed ^= hashed >> _SHIFT
    codes, firsts = _codes_of_numbers(hashed)
    differs = size != size[firsts][codes]
    for word in range_words:
        differs |= word != word[firsts][codes]
    return codes, firsts, np.flatnonzero(differs)


def _codes_of_numbers(numbers: UInt64) -> tuple[Int32, Int64]:
    """Codes of integers, and the first row of each code."""
    distinct = np.unique(numbers[:SAMPLE_ROWS])
    codes = np.searchsorted(distinct, numbers)
    is_new = distinct[np.minimum(codes, distinct.size - 1)] != numbers
    if is_new.any():
        distinct = np.union1d(distinct, numbers[is_new])
        codes = np.searchsorted(distinct, numbers)
    firsts = np.empty(distinct.size, np.int64)
    firsts[codes[::-1]] = np.arange(numbers.size)[::-1]
    return codes.astype(np.int32), firsts


def decimal_numbers(wire: Wire, start: Int64, end: Int64) -> tuple[Int64, Bools]:
    """Parse texts that are decimal integers.

    Returns:
        The values, and which texts are integers: at most :data:`MAX_DIGITS` digits, optionally
        with a minus. The value of the others is :data:`ABSENT`.
    """
    is_present = start != ABSENT
    at = np.where(is_present, start, 0)
    size = np.where(is_present, end - start, 0)
    is_negative = (size > 1) & (wire.buffer[at] == ord("-"))
    at, size = at + is_negative, size - is_negative
    is_number = (size > 0) & (size <= MAX_DIGITS)
    value = np.zeros(start.size, np.int64)
    rows = np.flatnonzero(is_number)
    for position in range(int(size[rows].max(initial=0))):
        rows = rows[size[rows] > position]
        digit = wire.buffer[at[rows] + position] - _ZERO
        is_number[rows] &= digit <= _NINE
        value[rows] = value[rows] * 10 + digit
    value[is_negative] *= -1
    value[~is_number] = ABSENT
    return value, is_number
