"""An encoder and decoder of protobuf's wire format for tests, one field at a time."""

from __future__ import annotations

import struct


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(number: int, value: int | float | str | bytes) -> bytes:
    """A varint, double or length-delimited value."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    return b"".join(field(number, value) for number, value in fields)


Row = tuple[int, int, int, int, int]


def decode(data: bytes, at: int, end: int) -> tuple[list[Row], bool]:
    """(number, wire type, value, start, end) of every field, and whether it ends well."""
    rows: list[Row] = []
    while at < end:
        tag, at = _varint(data, at, end)
        kind, number = tag & 7, tag >> 3
        if at < 0 or not 0 < number < 2**29:
            return rows, False
        start, size, value = at, 0, 0
        if kind == 0:
            value, behind = _varint(data, at, end)
            size = behind - at if behind >= 0 else end + 1
            value = value - 2**64 if value >= 2**63 else value
        elif kind == 2:
            value, start = _varint(data, at, end)
            size = value if start >= 0 else end + 1
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value = int.from_bytes(data[at : at + size], "little", signed=kind == 1)
        else:
            return rows, False
        if start < 0 or start + size > end:
            return rows, False
        rows.append((number, kind, value, start, start + size))
        at = start + size
    return rows, True


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for count in range(10):
        if at + count >= end:
            return 0, -1
        value |= (data[at + count] & 0x7F) << 7 * count
        if data[at + count] < 0x80:
            return value % 2**64, at + count + 1
    return 0, -1
