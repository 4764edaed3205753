"""Vectorized parsing of decimal numbers → thousandths, without a Python object per number."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

MAX_WHOLE = (2**63 - 1) // 1000 - 1

WORD_DIGITS = 8
"""Digits that are parsed at once, as the bytes of one integer."""
BELOW_THIRD = 10 ** (WORD_DIGITS - 3)
PAD = b"0" * (2 * WORD_DIGITS)
"""Padding around the numbers, so that words before the first and after the last can be read."""
COMMA, POINT, ZERO = np.frombuffer(b",.0", np.uint8)

UInt64 = npt.NDArray[np.uint64]


class DecimalNumbers:
    """Many decimal numbers, parsed at once.

    Attributes:
        thousandths: The numbers times 1000, rounded half to even; valid where ``is_plain``.
        is_plain: Which are digits with or without a point, and fit into int64.
        has_fraction: Whether any plain number is not an integer.
    """

    def __init__(self, raws: Sequence[msgspec.Raw | bytes]) -> None:
        text = b",".join([PAD, *raws, PAD])
        codes = np.frombuffer(text, np.uint8)
        self._words: UInt64 = np.ndarray((len(text) - WORD_DIGITS + 1,), "<u8", text, 0, (1,))
        commas = np.flatnonzero(codes == COMMA)
        if commas.size != len(raws) + 1:  # a text or list contains commas
            self.thousandths = np.zeros(len(raws), np.int64)
            self.is_plain = np.zeros(len(raws), np.bool_)
            self.has_fraction = False
            return
        start, end = commas[:-1] + 1, commas[1:]
        points = np.flatnonzero(codes == POINT)
        point = _point_positions(points, start, end)
        whole = self._whole(start, point)
        size = point - start
        self.is_plain = (size > 0) & (size <= 2 * WORD_DIGITS) & (whole <= MAX_WHOLE)
        others = np.count_nonzero(codes - ZERO > 9)  # unsigned: smaller codes wrap around
        if others != commas.size + points.size or np.count_nonzero(point < end) != points.size:
            self.is_plain[_rows_with_others(codes, start, point)] = False
        self.thousandths = whole * 1000
        self.has_fraction = False
        if points.size:
            decimals = self._decimals(point, end)
            self.thousandths += decimals
            is_fraction = (decimals != 0) & (decimals != 1000) & self.is_plain
            self.has_fraction = bool(is_fraction.any())

    def _whole(self, start: Int64, point: Int64) -> Int64:
        """The integer part, of up to sixteen digits."""
        size = point - start
        number = _last_digits(self._words[point - WORD_DIGITS], size)
        if size.max() > WORD_DIGITS:
            high = self._words[point - 2 * WORD_DIGITS]
            number += _last_digits(high, size - WORD_DIGITS) * 10**WORD_DIGITS
        return number

    def _decimals(self, point: Int64, end: Int64) -> Int64:
        """The decimals as thousandths; 1000 where they round up to one."""
        size = end - point - 1
        digits = _first_digits(self._words[point + 1], size)
        thousandths: Int64 = digits // BELOW_THIRD
        if size.max() > 3:
            rest = digits - thousandths * BELOW_THIRD
            half = BELOW_THIRD // 2
            self.is_plain &= (size <= WORD_DIGITS) | (rest != half)
            thousandths += (rest > half) | ((rest == half) & (thousandths % 2 == 1))
        return thousandths


def _point_positions(points: Int64, start: Int64, end: Int64) -> Int64:
    """Position of the point of each number; its end if it has none."""
    if not points.size:
        return end
    if points.size == start.size and bool(np.all((start < points) & (points < end))):
        return points
    following = np.append(points, end[-1])[np.searchsorted(points, start)]
    point: Int64 = np.minimum(following, end)
    return point


def _rows_with_others(codes: npt.NDArray[np.uint8], start: Int64, point: Int64) -> Int64:
    """Rows of numbers with anything but digits and one point."""
    is_other = codes - ZERO > 9
    is_other[codes == COMMA] = False
    is_other[point] = False
    rows: Int64 = np.searchsorted(start, np.flatnonzero(is_other), side="right") - 1
    return rows


def _last_digits(words: UInt64, count: Int64) -> Int64:
    """The number in the last ``count`` digits of each word, eight at most."""
    unused = _unused_bits(count)
    return _number(words >> unused << unused)


def _first_digits(words: UInt64, count: Int64) -> Int64:
    """The number in the first ``count`` digits of each word, padded with zeros to eight digits."""
    unused = _unused_bits(count)
    return _number(words << unused >> unused)


def _unused_bits(count: Int64) -> UInt64:
    """Bits of a word outside ``count`` digits; a single value if all counts are equal."""
    shortest, longest = count.min(), count.max()
    sizes = np.clip(count[:1] if shortest == longest else count, 0, WORD_DIGITS)
    return (8 * (WORD_DIGITS - sizes)).astype(np.uint64)


def _number(words: UInt64) -> Int64:
    """The number in the eight digits of each word; the lowest byte is the first digit.

    Adjacent digits, then pairs, then groups of four are combined by one multiplication each:
    multiplying by ``10 * 2**8 + 1`` adds ten times a digit to the byte of the next one.
    """
    words = words & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    words = (words * np.uint64((10 << 8) + 1)) >> np.uint64(8) & np.uint64(0x00FF_00FF_00FF_00FF)
    words = (words * np.uint64((100 << 16) + 1)) >> np.uint64(16) & np.uint64(0x0000_FFFF_0000_FFFF)
    numbers: UInt64 = (words * np.uint64((10_000 << 32) + 1)) >> np.uint64(32)
    return numbers.astype(np.int64)
