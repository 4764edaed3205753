"""All fields of many messages of one buffer, as flat arrays.

Wire format: https://protobuf.dev/programming-guides/encoding/. A round reads the next field of
every message that has one left, so the number of numpy calls grows with the fields of the longest
message, not with the messages; the few that are much longer than others are read one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.protobuf.varints import (
    Bytes,
    UInt64,
    padded,
    read_varint,
    read_varints,
    signed,
    words_of,
)
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int32, Int64

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types. Groups (3, 4) are gone from the language; 6 and 7 never were."""

MAX_NUMBER = (1 << 29) - 1

FEW_MESSAGES = 24
"""Fewer are quicker read field by field than by rounds of numpy calls."""

SMALL_PART = 1024
"""Parts of fewer fields are put together before they are grouped."""

_FIXED_BYTES = np.zeros(8, np.int64)
_FIXED_BYTES[[FIXED64, FIXED32]] = 8, 4
_IS_KNOWN = np.isin(np.arange(8), [VARINT, FIXED64, DELIMITED, FIXED32])
_IS_FIELD = np.tile(_IS_KNOWN, 16)
_IS_FIELD[:8] = False
"""Per tag of one byte, whether it begins a field: none has the number 0."""


Part = tuple[Int64, Int64, Int64, Int64, Int64]
"""Columns of fields: message, tag, value, start and end, as of :class:`Occurrences`."""

Group = tuple[Int64, ...]
"""The same of one tag, without it."""

_NONE = np.empty(0, np.int64)


def _joined(groups: list[Group]) -> Group:
    """Columns one behind the other, in order of messages."""
    columns = groups[0]
    if len(groups) > 1:
        columns = tuple(map(np.concatenate, zip(*groups, strict=True)))
    message = columns[0]
    if (message[1:] >= message[:-1]).all():
        return columns
    order = stable_order(message)
    return tuple(column[order] for column in columns)


def stable_order(keys: Int64 | Int32) -> Int64:
    """How numbers from 0 on are sorted: those of 16 bits by their digits, which is quicker."""
    is_small = keys.max(initial=0) < 1 << 16
    return np.argsort(keys.astype(np.uint16) if is_small else keys, kind="stable")


def _larger(parts: list[Part]) -> list[Part]:
    """The same parts, in the same order, where neighbours that are small are one."""
    larger: list[Part] = []
    small: list[Part] = []
    for part in parts:
        if part[0].size < SMALL_PART:
            small.append(part)
            continue
        larger += [*_together(small), part]
        small = []
    return larger + _together(small)


def _together(parts: list[Part]) -> list[Part]:
    if len(parts) < 2:
        return parts
    message, tag, value, start, end = map(np.concatenate, zip(*parts, strict=True))
    return [(message, tag, value, start, end)]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The occurrences of one field, in the order of messages and of places in them.

    Attributes:
        message: Index of the message each stands in.
        value: The number (of 32 fixed bits unsigned, of 64 their two's complement); of what is
            delimited how many bytes it has.
        start: Where its bytes begin (behind tag and length).
        end: Where they end.
    """

    message: Int64
    value: Int64
    start: Int64
    end: Int64

    def of(self, rows: Int64 | Bools) -> Occurrences:
        """Some of them."""
        return Occurrences(self.message[rows], self.value[rows], self.start[rows], self.end[rows])

    def doubles(self) -> Float64:
        """The values as what 64 fixed bits say."""
        return self.value.view(np.float64)

    def floats(self) -> Float64:
        """The values as what 32 fixed bits say."""
        return self.value.astype(np.uint32).view(np.float32).astype(np.float64)


class Fields:
    """Every field of some messages.

    Attributes:
        count: How many messages there are.
        broken: How many of them ended early: with a length or a number beyond their end, or
            something that is no field. What stands before is kept.
    """

    def __init__(self, count: int, broken: int, parts: list[Part]) -> None:
        """Group them.

        Args:
            count: Of the messages.
            broken: Of those that ended early.
            parts: The fields, of each message in the order in which they stand there.
        """
        self.count = count
        self.broken = broken
        self._groups: dict[int, list[Group]] = {}
        for message, tag, *others in _larger(parts):
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
        """Number and wire type of every field that occurs."""
        return [(tag >> 3, tag & 7) for tag in self._groups]

    def pick(self, number: int, wire_type: int = VARINT) -> Occurrences:
        """Every occurrence of a field; of another wire type than the one it has it is another."""
        groups = self._groups.get(number << 3 | wire_type)
        if groups is None:
            return Occurrences(_NONE, _NONE, _NONE, _NONE)
        groups[:] = [_joined(groups)]
        return Occurrences(*groups[0])

    def unordered(self, number: int, wire_type: int) -> Occurrences:
        """The same as :meth:`pick`, where only those of one message need be in order."""
        groups = self._groups.get(number << 3 | wire_type)
        if groups is None:
            return Occurrences(_NONE, _NONE, _NONE, _NONE)
        return Occurrences(*map(np.concatenate, zip(*groups, strict=True)))

    def ints(self, number: int, wire_type: int = VARINT, default: int = ABSENT) -> Int64:
        """One value per message: the last one that it gives, as protobuf has it."""
        column = np.full(self.count, default, np.int64)
        for message, value, *_ in self._groups.get(number << 3 | wire_type, ()):
            column[message] = value
        return column

    def floats(self, number: int) -> Float64:
        """One double (or float) per message; NaN where there is none."""
        column = np.full(self.count, np.nan, np.float64)
        single = self.pick(number, FIXED32)
        column[single.message] = single.floats()
        double = self.pick(number, FIXED64)
        column[double.message] = double.doubles()
        return column

    def spans(self, number: int) -> tuple[Int64, Int64]:
        """Start and end of the last bytes that each message gives; ``ABSENT`` for none."""
        start = np.full(self.count, ABSENT, np.int64)
        end = np.full(self.count, ABSENT, np.int64)
        for message, _, first, behind in self._groups.get(number << 3 | DELIMITED, ()):
            start[message] = first
            end[message] = behind
        return start, end


class Wire:
    """One buffer of protobuf messages.

    Attributes:
        data: Its bytes.
        buffer: The same as an array, padded.
        words: The eight bytes from each place on.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.buffer: Bytes = padded(data)
        self.words: UInt64 = words_of(self.buffer)

    def fields(self, start: Int64, end: Int64) -> Fields:
        """The fields of the messages that lie from each of ``start`` to each of ``end``.

        Args:
            start: Places in the buffer.
            end: Behind each; not before its start, not behind the buffer.
        """
        rounds = _Rounds(self, start, end)
        rounds.run()
        return rounds.fields()

    def numbers(self, fields: Fields, number: int) -> tuple[Int64, Int64]:
        """The values of a repeated varint, packed or not: (message, value) in order of messages."""
        single, packed = fields.pick(number), fields.pick(number, DELIMITED)
        if not packed.message.size:
            return single.message, single.value
        message, value, _ = self.packed(packed)
        message = np.concatenate([single.message, message])
        value = np.concatenate([single.value, value])
        order = np.argsort(message, kind="stable")
        return message[order], value[order]

    def packed(self, picked: Occurrences) -> tuple[Int64, Int64, int]:
        """The varints inside delimited fields: message and value of each, and how many fields
        ended in the middle of one."""
        at, end, message = picked.start.copy(), picked.end, picked.message
        owners: list[Int64] = []
        values: list[Int64] = []
        places: list[Int64] = []
        broken = 0
        alive = np.flatnonzero(at < end)
        turn = 0
        while alive.size:
            value, length = read_varints(self.buffer, self.words, at[alive])
            good = (length > 0) & (at[alive] + length <= end[alive])
            broken += int((~good).sum())
            alive, value, length = alive[good], value[good], length[good]
            owners.append(alive)
            values.append(value)
            places.append(np.full(alive.size, turn))
            at[alive] += length
            alive = alive[at[alive] < end[alive]]
            turn += 1
        if not owners:
            return np.empty(0, np.int64), np.empty(0, np.int64), broken
        owner, value, place = map(np.concatenate, (owners, values, places))
        order = np.lexsort((place, owner))
        return message[owner[order]], value[order], broken


class _Rounds:
    """The reading of :meth:`Wire.fields`."""

    def __init__(self, wire: Wire, start: Int64, end: Int64) -> None:
        self.wire = wire
        self.at = np.asarray(start, np.int64)
        self.end = np.asarray(end, np.int64)
        self.broken = 0
        self.parts: list[Part] = []

    def run(self) -> None:
        alive = np.flatnonzero(self.at < self.end)
        at, end = self.at[alive], self.end[alive]
        while alive.size >= FEW_MESSAGES:
            alive, at, end = self._round(alive, at, end)
        for message, place in zip(alive.tolist(), at.tolist(), strict=True):
            self._rest(message, place)

    def _round(self, alive: Int64, at: Int64, end: Int64) -> tuple[Int64, Int64, Int64]:
        """Read the next field of messages.

        Args:
            alive: The messages.
            at: Where the field of each begins.
            end: Where each message ends.

        Returns:
            The same of those with more to read.
        """
        buffer, words = self.wire.buffer, self.wire.words
        first = buffer[at]
        if first.max() < 0x80:
            tag, place = first.astype(np.int64), at + 1
            is_good = _IS_FIELD[first]
        else:
            tag, length = read_varints(buffer, words, at)
            place = at + length
            is_good = (length > 0) & (place <= end)
            number = tag >> 3
            is_good &= _IS_KNOWN[tag & 7] & (number > 0) & (number <= MAX_NUMBER)
        if not is_good.all():
            place = np.where(is_good, place, at)
        value, start, behind, fits = self._contents(tag, place, end)
        is_good &= fits
        if not is_good.all():
            self.broken += int((~is_good).sum())
            alive, tag, value = alive[is_good], tag[is_good], value[is_good]
            start, behind, end = start[is_good], behind[is_good], end[is_good]
        if alive.size:
            self.parts.append((alive, tag, value, start, behind))
        goes_on = behind < end
        if goes_on.all():
            return alive, behind, end
        return alive[goes_on], behind[goes_on], end[goes_on]

    def _contents(self, tag: Int64, place: Int64, end: Int64) -> tuple[Int64, Int64, Int64, Bools]:
        """What stands behind tags: value, start and end, and whether that lies in its message."""
        value, length = read_varints(self.wire.buffer, self.wire.words, place)
        wire_type = tag & 7
        kind = int(wire_type[0])
        if kind in (VARINT, DELIMITED) and (wire_type == kind).all():  # as in most rounds
            fits = length > 0
            start = place + length if kind == DELIMITED else place
            size = value if kind == DELIMITED else length
        else:
            is_fixed = (wire_type & 3) == 1  # 1 and 5
            is_delimited = wire_type == DELIMITED
            fits = is_fixed | (length > 0)
            start = np.where(is_delimited, place + length, place)
            size = np.where(is_fixed, _FIXED_BYTES[wire_type], length)
            size = np.where(is_delimited, value, size)
            if is_fixed.any():
                raw = self.wire.words[place[is_fixed]].view(np.int64)
                value[is_fixed] = np.where(wire_type[is_fixed] == FIXED32, raw & 0xFFFFFFFF, raw)
        fits &= (size >= 0) & (size <= end - start)
        return value, start, start + size, fits

    def _rest(self, message: int, at: int) -> None:
        """Read one message from a place on, field by field."""
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
    """The field that begins at a place: its number, wire type, value, start and end, as of
    :class:`Occurrences`; None where there is none."""
    tag, place = read_varint(data, at, end)
    number, wire_type = tag >> 3, tag & 7
    if not place or not 0 < number <= MAX_NUMBER or not _IS_KNOWN[wire_type]:
        return None
    if wire_type in (FIXED64, FIXED32):
        size = 8 if wire_type == FIXED64 else 4
        value = int.from_bytes(data[place : place + size], "little", signed=wire_type == FIXED64)
        behind = place + size
        return (number, wire_type, value, place, behind) if behind <= end else None
    value, behind = read_varint(data, place, end)
    if not behind:
        return None
    if wire_type == DELIMITED:
        fits = value <= end - behind
        return (number, wire_type, value, behind, behind + value) if fits else None
    return number, wire_type, signed(value), place, behind
