"""Decodes one debug annotation into the value that JSON would have."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from torch_tb_profiler.importers.pftrace.fields import DebugAnnotation
from torch_tb_profiler.importers.protobuf.wire import (
    DELIMITED,
    FIXED32,
    FIXED64,
    VARINT,
    read_field,
)

MAX_DEPTH = 32
NULL = "null"
"""The text that PyTorch's encoder writes for JSON's null."""


class InternedText(NamedTuple):
    """A reference to an interned text."""

    iid: int


def annotation_value(data: bytes) -> Any:
    """The value of a message ``DebugAnnotation``: a number, text, boolean, list or dict.

    A message without a value is an empty list, which PyTorch writes so.
    """
    return _value(data, 0, len(data), MAX_DEPTH)


def _value(data: bytes, at: int, end: int, depth: int) -> Any:
    items: list[Any] = []
    entries: dict[str, Any] = {}
    scalar: Any = items
    while (field := read_field(data, at, end)) is not None:
        number, wire_type, value, start, at = field
        if wire_type == DELIMITED and number == DebugAnnotation.ITEMS:
            items.append(_value(data, start, at, depth - 1) if depth else None)
        elif wire_type == DELIMITED and number == DebugAnnotation.ENTRIES:
            name = _name(data, start, at)
            entries[name] = _value(data, start, at, depth - 1) if depth else None
        else:
            decoded = _scalar(number, wire_type, value, data[start:at])
            scalar = scalar if decoded is None else decoded[0]
        if at >= end:
            break
    return entries or scalar


def _scalar(number: int, wire_type: int, value: int, content: bytes) -> tuple[Any] | None:
    """The value of a field as a tuple of one item; None if the field is not a value."""
    if wire_type == VARINT:
        if number == DebugAnnotation.BOOL:
            return (bool(value),)
        if number in (DebugAnnotation.UINT, DebugAnnotation.POINTER):
            return (value % 2**64,)
        if number == DebugAnnotation.TEXT_IID:
            return (InternedText(value),)
        return (value,) if number == DebugAnnotation.INT else None
    if number == DebugAnnotation.DOUBLE and wire_type in (FIXED64, FIXED32):
        return struct.unpack("<d" if wire_type == FIXED64 else "<f", content)
    if number in (DebugAnnotation.TEXT, DebugAnnotation.JSON) and wire_type == DELIMITED:
        text = content.decode("utf-8", "replace")
        return (None if text == NULL else text,)
    return None


def _name(data: bytes, at: int, end: int) -> str:
    while (field := read_field(data, at, end)) is not None:
        number, wire_type, _, start, at = field
        if number == DebugAnnotation.NAME and wire_type == DELIMITED:
            return data[start:at].decode("utf-8", "replace")
        if at >= end:
            break
    return ""
