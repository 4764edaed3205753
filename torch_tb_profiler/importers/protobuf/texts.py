"""Ranges of bytes → codes of the distinct ones: each distinct text is made once.

Short ranges are taken eight bytes at a time, all at once: those of up to eight bytes are numbers
themselves; longer ones are hashed and compared with the range that stands for their hash, so that
two texts with one hash stay two. Long ones are few, and are looked up one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.protobuf.varints import UInt64
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Occurrences, Wire
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64

SHORT_BYTES = 128
SAMPLE = 1024
"""Most texts are the same few again: so many are looked at before all are."""

DIGITS = 18
"""Decimal numbers of so many digits fit into 64 bits, whatever the digits are."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_TOP, _BYTE = np.uint64(56), np.uint64(8)
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)
_ZERO, _NINE = np.uint8(ord("0")), np.uint8(9)


def distinct_ranges(wire: Wire, start: Int64, end: Int64) -> tuple[Int32, list[bytes]]:
    """A code per range, and the bytes behind each code: the short ones by their first rows.

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
    codes[rows], firsts, wrong = _short_codes(wire.words, start[rows], size[rows])
    kept = rows[firsts]
    data = wire.data
    texts = [data[a:b] for a, b in zip(start[kept].tolist(), end[kept].tolist(), strict=True)]
    others = np.concatenate([np.flatnonzero(is_there & ~is_short), rows[wrong]])
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


class LeadingTexts(NamedTuple):
    """Texts that messages begin with.

    Attributes:
        codes: A code per message.
        texts: The text behind each code.
        end: Where the text of each message ends.
    """

    codes: Int32
    texts: list[str]
    end: Int64


def leading_texts(wire: Wire, picked: Occurrences, number: int) -> LeadingTexts | None:
    """The short text (of 127 bytes at most) that each of these messages begins with, in fewer
    steps than :func:`distinct_texts`; None where one of them begins otherwise.

    Args:
        wire: The buffer.
        picked: The messages.
        number: Of the field of the text, below 16.
    """
    words = wire.words
    word = words[picked.start]
    length = ((word >> _BYTE) & _MASKS[1]).view(np.int64)
    end = picked.start + 2 + length
    begins = (word & _MASKS[1]) == (number << 3 | DELIMITED)
    if not (begins & (length < 0x80) & (end <= picked.end)).all():
        return None
    head = word & _MASKS[np.minimum(length + 2, 8)]
    rows = np.flatnonzero(length > 6)
    tail = np.zeros(head.size, np.uint64)
    tail[rows] = words[end[rows] - 8]
    codes, firsts = _codes_of_numbers((head * _FACTOR) ^ tail)
    codes, firsts = _by_first_rows(codes, firsts)
    differs = (head != head[firsts][codes]) | (tail != tail[firsts][codes])
    rows = np.flatnonzero(length > 14)  # what is between head and tail
    stands_for = firsts[codes[rows]]
    if differs.any() or _differ(words, picked.start, end, rows, stands_for):
        return LeadingTexts(*distinct_texts(wire, picked.start + 2, end), end)
    data = wire.data
    spans = zip((picked.start[firsts] + 2).tolist(), end[firsts].tolist(), strict=True)
    return LeadingTexts(codes, [data[a:b].decode("utf-8", "replace") for a, b in spans], end)


def _differ(words: UInt64, start: Int64, end: Int64, rows: Int64, stands_for: Int64) -> bool:
    """Whether any of ``rows`` is not the same as its other row, of the same size, between the
    eight bytes that it begins and those that it ends with."""
    at, other, last = start[rows] + 8, start[stands_for] + 8, end[rows] - 8
    while at.size:
        if (words[at] != words[other]).any():
            return True
        goes_on = at + 8 < last
        at, other, last = at[goes_on] + 8, other[goes_on] + 8, last[goes_on]
    return False


def _short_codes(words: UInt64, start: Int64, size: Int64) -> tuple[Int32, Int64, Int64]:
    """Codes, a row that stands for each, and the rows that are other bytes than that."""
    codes = np.empty(start.size, np.int32)
    firsts: list[Int64] = [np.empty(0, np.int64)]
    wrong: list[Int64] = [np.empty(0, np.int64)]
    count = 0
    needed = (size + 7) >> 3
    for number in np.flatnonzero(np.bincount(needed)).tolist():
        rows = np.flatnonzero(needed == number)
        own, first, differs = _codes_of_words(words, start[rows], size[rows], number)
        codes[rows] = own + count
        firsts.append(rows[first])
        wrong.append(rows[differs])
        count += first.size
    codes, first = _by_first_rows(codes, np.concatenate(firsts))
    return codes, first, np.concatenate(wrong)


def _by_first_rows(codes: Int32, firsts: Int64) -> tuple[Int32, Int64]:
    """The same, with the codes in order of their first rows."""
    order = np.argsort(firsts)
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size)
    return rank[codes], firsts[order]


def _codes_of_words(
    words: UInt64, start: Int64, size: Int64, number: int
) -> tuple[Int32, Int64, Int64]:
    """The same of ranges that all take so many words."""
    if number <= 1:
        is_whole = size == 8
        word = words[start] & _MASKS[size]
        codes, firsts = _codes_of_numbers(word ^ (size.astype(np.uint64) << _TOP))
        # Seven bytes and their number fit into a word; eight may be like them.
        return codes, firsts, np.flatnonzero(is_whole != is_whole[firsts][codes])
    taken = [words[start + 8 * place] for place in range(number - 1)]
    taken.append(words[start + (size - 8)])
    hashed = size.astype(np.uint64) * _FACTOR
    for word in taken:
        hashed ^= word
        hashed *= _FACTOR
        hashed ^= hashed >> _SHIFT
    codes, firsts = _codes_of_numbers(hashed)
    differs = size != size[firsts][codes]
    for word in taken:
        differs |= word != word[firsts][codes]
    return codes, firsts, np.flatnonzero(differs)


def _codes_of_numbers(numbers: UInt64) -> tuple[Int32, Int64]:
    """Codes of numbers, and the first row of each."""
    distinct = np.unique(numbers[:SAMPLE])
    codes = np.searchsorted(distinct, numbers)
    is_new = distinct[np.minimum(codes, distinct.size - 1)] != numbers
    if is_new.any():
        distinct = np.union1d(distinct, numbers[is_new])
        codes = np.searchsorted(distinct, numbers)
    firsts = np.empty(distinct.size, np.int64)
    firsts[codes[::-1]] = np.arange(numbers.size)[::-1]
    return codes.astype(np.int32), firsts


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
