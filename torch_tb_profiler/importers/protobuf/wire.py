"""Vectorized decoding of the fields of many messages into flat arrays.

Wire format: https://protobuf.dev/programming-guides/encoding/. A round decodes the next field of
every unfinished message, so the number of numpy calls grows with the fields of the longest message,
not with the messages; the few messages that are much longer than others are decoded one by one.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.protobuf.varints import (
    Bytes,
    UInt64,
    padded,
    read_span,
    read_varint,
    read_varints,
    signed,
    words_of,
)
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int32, Int64

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types. Groups (3, 4) were removed from protobuf; 6 and 7 never existed."""

MAX_NUMBER = (1 << 29) - 1

FEW_MESSAGES = 24
"""Fewer messages are decoded faster one by one than in rounds of numpy calls."""

SMALL_PART = 1024
"""Smaller parts are concatenated before they are grouped."""

_FIXED_BYTES = np.zeros(8, np.int64)
_FIXED_BYTES[[FIXED64, FIXED32]] = 8, 4
_IS_KNOWN = np.isin(np.arange(8), [VARINT, FIXED64, DELIMITED, FIXED32])
_IS_FIELD = np.tile(_IS_KNOWN, 16)
_IS_FIELD[:8] = False
"""Per one-byte tag, whether it is valid: the field number 0 is not."""


Part = tuple[Int64, Int64, Int64, Int64, Int64]
"""Columns of fields: message, tag, value, start and end, as in :class:`Occurrences`."""

Group = tuple[Int64, ...]
"""The columns of the fields of one tag, without the tag."""

_NONE = np.empty(0, np.int64)


def _joined(groups: list[Group]) -> Group:
    """Concatenated groups, in order of messages."""
    columns = groups[0]
    if len(groups) > 1:
        columns = tuple(map(np.concatenate, zip(*groups, strict=True)))
    message = columns[0]
    if (message[1:] >= message[:-1]).all():
        return columns
    order = stable_order(message)
    return tuple(column[order] for column in columns)


def stable_order(keys: Int64 | Int32) -> Int64:
    """Stable sort order of non-negative integers; a faster radix sort if they fit into 16 bits."""
    is_small = keys.max(initial=0) < 1 << 16
    return np.argsort(keys.astype(np.uint16) if is_small else keys, kind="stable")


def _merge_small(parts: list[Part]) -> list[Part]:
    """The parts in the same order, with adjacent small ones merged."""
    merged: list[Part] = []
    small: list[Part] = []
    for part in parts:
        if part[0].size < SMALL_PART:
            small.append(part)
            continue
        merged += [*_merged(small), part]
        small = []
    return merged + _merged(small)


def _merged(parts: list[Part]) -> list[Part]:
    if len(parts) < 2:
        return parts
    message, tag, value, start, end = map(np.concatenate, zip(*parts, strict=True))
    return [(message, tag, value, start, end)]


class Occurrences(Struct, frozen=True):
    """All occurrences of one field, in order of messages and of offset.

    Attributes:
        message: Index of the message.
        value: The integer (fixed 32 bits unsigned, fixed 64 bits as two's complement); for
            length-delimited fields their length in bytes.
        start: Start of its content (after tag and length).
        end: End of its content.
    """

    message: Int64
    value: Int64
    start: Int64
    end: Int64

    def select(self, rows: Int64 | Bools) -> Occurrences:
        """Some of the occurrences, by index or mask."""
        return Occurrences(self.message[rows], self.value[rows], self.start[rows], self.end[rows])

    def doubles(self) -> Float64:
        """The values of fixed 64-bit fields as doubles."""
        return self.value.view(np.float64)

    def floats(self) -> Float64:
        """The values of fixed 32-bit fields as floats."""
        return self.value.astype(np.uint32).view(np.float32).astype(np.float64)


class Fields:
    """All fields of some messages.

    Attributes:
        count: Number of messages.
        broken: Number of messages that are damaged: a length or number reaches beyond their end, or
            a tag is invalid. The fields before the damage are available.
    """

    def __init__(self, count: int, broken: int, parts: list[Part]) -> None:
        """Group fields by tag.

        Args:
            count: Number of messages.
            broken: Number of damaged messages.
            parts: The fields; those of one message are in order.
        """
        self.count = count
        self.broken = broken
        self._groups: dict[int, list[Group]] = {}
        for message, tag, *others in _merge_small(parts):
            columns = (message, *others)
            if (tag == tag[0]).all():  # as in most rounds
                self._groups.setdefault(int(tag[0]), []).append(columns)
                continue
            order = stable_order(tag)
            edges = np.flatnonzero(np.diff(tag[order])) + 1
            for rows in np.split(order, edges):
                group = tuple(column[rows] for column in columns)
                self._groups.setdefault(int(tag[rows[0]]), []).append(group)

    @property
    def tags(self) -> list[tuple[int, int]]:
        """Number and wire type of all fields that occur."""
        return [(tag >> 3, tag & 7) for tag in self._groups]

    def pick(self, number: int, wire_type: int = VARINT) -> Occurrences:
        """All occurrences of a field; the same number with another wire type is another field."""
        groups = self._groups.get(number << 3 | wire_type)
        if groups is None:
            return Occurrences(_NONE, _NONE, _NONE, _NONE)
        groups[:] = [_joined(groups)]
        return Occurrences(*groups[0])

    def unordered(self, number: int, wire_type: int) -> Occurrences:
        """As :meth:`pick`, but only the occurrences within a message are in order."""
        groups = self._groups.get(number << 3 | wire_type)
        if groups is None:
            return Occurrences(_NONE, _NONE, _NONE, _NONE)
        return Occurrences(*map(np.concatenate, zip(*groups, strict=True)))

    def ints(self, number: int, wire_type: int = VARINT, default: int = ABSENT) -> Int64:
        """One value per message; of several the last one counts, as protobuf defines it."""
        column = np.full(self.count, default, np.int64)
        for message, value, *_ in self._groups.get(number << 3 | wire_type, ()):
            column[message] = value
        return column

    def floats(self, number: int) -> Float64:
        """One double (or float) per message; NaN if it has none."""
        column = np.full(self.count, np.nan, np.float64)
        single = self.pick(number, FIXED32)
        column[single.message] = single.floats()
        double = self.pick(number, FIXED64)
        column[double.message] = double.doubles()
        return column

    def spans(self, number: int) -> tuple[Int64, Int64]:
        """Start and end of the last occurrence per message; ``ABSENT`` if it has none."""
        start = np.full(self.count, ABSENT, np.int64)
        end = np.full(self.count, ABSENT, np.int64)
        for message, _, first, last in self._groups.get(number << 3 | DELIMITED, ()):
            start[message] = first
            end[message] = last
        return start, end


class Wire:
    """One buffer of protobuf messages.

    Attributes:
        data: Its bytes.
        buffer: The bytes as a padded array.
        words: The eight bytes at each offset, as integers.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.buffer: Bytes = padded(data)
        self.words: UInt64 = words_of(self.buffer)

    def fields(self, start: Int64, end: Int64) -> Fields:
        """Decode the fields of messages.

        Args:
            start: Start of each message in the buffer.
            end: End of each message; not before its start, and within the buffer.
        """
        decoder = _FieldDecoder(self, start, end)
        decoder.run()
        return decoder.fields()

    def numbers(self, fields: Fields, number: int) -> tuple[Int64, Int64]:
        """The values of a repeated varint, packed or not: messages and values, in order of
        messages."""
        single, packed = fields.pick(number), fields.pick(number, DELIMITED)
        if not packed.message.size:
            return single.message, single.value
        message, value, _ = self.packed_values(packed)
        message = np.concatenate([single.message, message])
        value = np.concatenate([single.value, value])
        order = np.argsort(message, kind="stable")
        return message[order], value[order]

    def packed_values(self, fields: Occurrences) -> tuple[Int64, Int64, int]:
        """The varints in packed fields.

        Returns:
            Message and value of each varint, and the number of fields that end within a varint.
        """
        at, end, message = fields.start.copy(), fields.end, fields.message
        owners: list[Int64] = []
        values: list[Int64] = []
        indices: list[Int64] = []
        broken = 0
        active = np.flatnonzero(at < end)
        index = 0
        while active.size:
            if active.size < (end[active] - at[active]).max():  # fewer fields than rounds
                break
            value, length = read_varints(self.buffer, self.words, at[active])
            good = (length > 0) & (at[active] + length <= end[active])
            broken += int((~good).sum())
            active, value, length = active[good], value[good], length[good]
            owners.append(active)
            values.append(value)
            indices.append(np.full(active.size, index))
            at[active] += length
            active = active[at[active] < end[active]]
            index += 1
        for field in active.tolist():
            span = int(at[field]), int(end[field])
            value, is_broken = read_span(self.buffer, self.words, *span)
            broken += is_broken
            owners.append(np.full(value.size, field))
            values.append(value)
            indices.append(index + np.arange(value.size))
        if not owners:
            return np.empty(0, np.int64), np.empty(0, np.int64), broken
        owner, value, position = map(np.concatenate, (owners, values, indices))
        order = np.lexsort((position, owner))
        return message[owner[order]], value[order], broken


class _FieldDecoder:
    """The decoding of :meth:`Wire.fields`."""

    def __init__(self, wire: Wire, start: Int64, end: Int64) -> None:
        self.wire = wire
        self.at = np.asarray(start, np.int64)
        self.end = np.asarray(end, np.int64)
        self.broken = 0
        self.parts: list[Part] = []

    def run(self) -> None:
        active = np.flatnonzero(self.at < self.end)
        at, end = self.at[active], self.end[active]
        while active.size >= FEW_MESSAGES:
            active, at, end = self._round(active, at, end)
        for message, offset in zip(active.tolist(), at.tolist(), strict=True):
            self._decode_rest(message, offset)

    def _round(self, active: Int64, at: Int64, end: Int64) -> tuple[Int64, Int64, Int64]:
        """Decode the next field of each message.

        Args:
            active: The messages.
            at: Start of the field of each.
            end: End of each message.

        Returns:
            The same for the messages that have more fields.
        """
        buffer, words = self.wire.buffer, self.wire.words
        first = buffer[at]
        if first.max() < 0x80:
            tag, content = first.astype(np.int64), at + 1
            is_good = _IS_FIELD[first]
        else:
            tag, length = read_varints(buffer, words, at)
            content = at + length
            is_good = (length > 0) & (content <= end)
            number = tag >> 3
            is_good &= _IS_KNOWN[tag & 7] & (number > 0) & (number <= MAX_NUMBER)
        if not is_good.all():
            content = np.where(is_good, content, at)
        value, start, content_end, fits = self._contents(tag, content, end)
        is_good &= fits
        if not is_good.all():
            self.broken += int((~is_good).sum())
            active, tag, value = active[is_good], tag[is_good], value[is_good]
            start, content_end, end = start[is_good], content_end[is_good], end[is_good]
        if active.size:
            self.parts.append((active, tag, value, start, content_end))
        has_more = content_end < end
        if has_more.all():
            return active, content_end, end
        return active[has_more], content_end[has_more], end[has_more]

    def _contents(
        self, tag: Int64, content: Int64, end: Int64
    ) -> tuple[Int64, Int64, Int64, Bools]:
        """The contents after tags: value, start, end, and whether they are within the message."""
        value, length = read_varints(self.wire.buffer, self.wire.words, content)
        wire_type = tag & 7
        kind = int(wire_type[0])
        if kind in (VARINT, DELIMITED) and (wire_type == kind).all():  # as in most rounds
            fits = length > 0
            start = content + length if kind == DELIMITED else content
            size = value if kind == DELIMITED else length
        else:
            is_fixed = (wire_type & 3) == 1  # 1 and 5
            is_delimited = wire_type == DELIMITED
            fits = is_fixed | (length > 0)
            start = np.where(is_delimited, content + length, content)
            size = np.where(is_fixed, _FIXED_BYTES[wire_type], length)
            size = np.where(is_delimited, value, size)
            if is_fixed.any():
                raw = self.wire.words[content[is_fixed]].view(np.int64)
                value[is_fixed] = np.where(wire_type[is_fixed] == FIXED32, raw & 0xFFFFFFFF, raw)
        fits &= (size >= 0) & (size <= end - start)
        return value, start, start + size, fits

    def _decode_rest(self, message: int, at: int) -> None:
        """Decode one message from an offset on, field by field."""
        data = self.wire.data
        end = int(self.end[message])
        rows: list[tuple[int, int, int, int, int]] = []
        while at < end:
            field = read_field(data, at, end)
            if field is None:
                self.broken += 1
                break
            number, wire_type, value, start, at = field
            rows.append((message, number << 3 | wire_type, value, start, at))
        if rows:
            columns = np.array(rows, np.int64).T
            self.parts.append((columns[0], columns[1], columns[2], columns[3], columns[4]))

    def fields(self) -> Fields:
        return Fields(self.at.size, self.broken, self.parts)


def read_field(data: bytes, at: int, end: int) -> tuple[int, int, int, int, int] | None:
    """Decode one field of ``data[at:end]``.

    Returns:
        Its number and wire type, and value, start and end as in :class:`Occurrences`; None if there
        is no valid field.
    """
    tag, content = read_varint(data, at, end)
    number, wire_type = tag >> 3, tag & 7
    if not content or not 0 < number <= MAX_NUMBER or not _IS_KNOWN[wire_type]:
        return None
    if wire_type in (FIXED64, FIXED32):
        size = 8 if wire_type == FIXED64 else 4
        value = int.from_bytes(
            data[content : content + size], "little", signed=wire_type == FIXED64
        )
        content_end = content + size
        return (number, wire_type, value, content, content_end) if content_end <= end else None
    value, content_end = read_varint(data, content, end)
    if not content_end:
        return None
    if wire_type == DELIMITED:
        fits = value <= end - content_end
        return (number, wire_type, value, content_end, content_end + value) if fits else None
    return number, wire_type, signed(value), content, content_end
