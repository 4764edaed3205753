"""Vectorized decoding of varints at many offsets of a buffer.

Wire format: https://protobuf.dev/programming-guides/encoding/ (base 128 varints).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from torch_tb_profiler.trace.columns import Int64

Bytes = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

PADDING_BYTES = 16
"""Zeros after a buffer, so that eight bytes can be read at every offset in it."""

_CONTINUES = np.uint64(0x8080808080808080)
_PAYLOAD = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONE = np.uint64(1)

# The seven payload bits of every byte are moved together: by 1, then pairs by 2, then fours by 4.
_MERGES = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)
_EXPONENT_SHIFT = 52
_EXPONENT_BIAS = 1023


def padded(data: bytes | bytearray | memoryview) -> Bytes:
    """The bytes as an array, with the zeros after them that :func:`words_of` needs."""
    buffer = np.zeros(len(data) + PADDING_BYTES, np.uint8)
    buffer[: len(data)] = np.frombuffer(data, np.uint8)
    return buffer


def words_of(buffer: Bytes) -> UInt64:
    """The eight bytes at each offset of a padded buffer, as integers; a view, not a copy."""
    words: UInt64 = np.ndarray((buffer.size - 8,), "<u8", buffer.data, strides=(1,))
    return words


def read_varints(buffer: Bytes, words: UInt64, at: Int64) -> tuple[Int64, Int64]:
    """Decode the varints at the offsets ``at``.

    Args:
        buffer: The padded buffer.
        words: Its words, from :func:`words_of`.
        at: Offsets in it, before the padding.

    Returns:
        The values (two's complement; bits beyond 64 are dropped) and their lengths in bytes; 0 for
        one of more than ten bytes.
    """
    first = buffer[at]
    value, length = first.astype(np.int64), np.ones(at.size, np.int64)
    if first.max(initial=0) < 0x80:  # the common case: small numbers and short lengths
        return value, length
    rows = np.flatnonzero(first >= 0x80)
    if 2 * rows.size > at.size:
        return _long_and_short_varints(buffer, words, at)
    value[rows], length[rows] = _long_and_short_varints(buffer, words, at[rows])
    return value, length


def read_span(buffer: Bytes, words: UInt64, start: int, end: int) -> tuple[Int64, bool]:
    """The varints between two offsets, up to one that is damaged, and whether one is."""
    after = np.flatnonzero(buffer[start:end] < 0x80) + start + 1
    at = np.concatenate([[start], after[:-1]])[: after.size]
    value, length = read_varints(buffer, words, at)
    bad = np.flatnonzero(length == 0)
    if bad.size:
        return value[: bad[0]], True
    return value, not after.size or int(after[-1]) < end


def _long_and_short_varints(buffer: Bytes, words: UInt64, at: Int64) -> tuple[Int64, Int64]:
    """:func:`read_varints` for varints of any length."""
    word = words[at]
    stop = ~word & _CONTINUES
    low = stop & (~stop + _ONE)
    value = word & (low - _ONE) & _PAYLOAD
    is_long = low == 0
    has_long = bool(is_long.any())
    longest = int(np.bitwise_or.reduce(low))
    merges = 3 if has_long or longest >> 32 else 2 if longest >> 16 else 1
    for keep, move, shift in _MERGES[:merges]:
        upper = value & move
        upper >>= shift
        value &= keep
        value |= upper
    exponent = (low.astype(np.float64).view(np.int64) >> _EXPONENT_SHIFT) - _EXPONENT_BIAS
    length = (exponent >> 3) + 1
    if has_long:
        rows = np.flatnonzero(is_long)
        value[rows], length[rows] = _long_varints(buffer, value[rows], at[rows])
    return value.view(np.int64), length


def _long_varints(buffer: Bytes, value: UInt64, at: Int64) -> tuple[UInt64, Int64]:
    """Varints of nine or more bytes."""
    ninth, tenth = buffer[at + 8], buffer[at + 9]
    value = value | ((ninth & np.uint8(0x7F)).astype(np.uint64) << np.uint64(56))
    is_ten = ninth >= 0x80
    value[is_ten] |= (tenth[is_ten] & np.uint8(1)).astype(np.uint64) << np.uint64(63)
    length = np.where(is_ten, np.where(tenth >= 0x80, 0, 10), 9)
    return value, length.astype(np.int64)


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Decode one varint of ``data[at:end]``.

    Returns:
        The unsigned value and the offset after it; (0, 0) if there is no complete varint.
    """
    value = shift = 0
    for offset in range(at, min(end, at + 10)):
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), offset + 1
        shift += 7
    return 0, 0


def signed(value: int) -> int:
    """An unsigned 64-bit number as two's complement."""
    return value - 2**64 if value >= 2**63 else value
