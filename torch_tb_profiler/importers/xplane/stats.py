"""Values of events and of their metadata: named numbers and texts, as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, FIXED64, VARINT, Occurrences, Wire
from torch_tb_profiler.importers.xplane.fields import StatField
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int8, Int32, Int64

NUMBERS = ((StatField.DOUBLE, FIXED64), (StatField.UNSIGNED, VARINT), (StatField.SIGNED, VARINT))
"""Fields with numbers, and their wire types."""

_TWO_TO_64 = 2.0**64


class StatRows(Struct, frozen=True):
    """Some values; arrays are aligned.

    Attributes:
        owner: Row of the event, or of the metadata, that has the value.
        key: Id of the value's name in the plane's metadata.
        kind: Which field of ``XStat`` holds it.
        bits: The number: an integer, or the bits of a double; of a reference the id of its text.
        text: Code of the text in ``texts``, -1 for none.
        texts: The distinct texts.
    """

    owner: Int64
    key: Int64
    kind: Int8
    bits: Int64
    text: Int32
    texts: list[str]

    def select(self, rows: Bools) -> StatRows:
        """Some of the values."""
        return StatRows(
            self.owner[rows],
            self.key[rows],
            self.kind[rows],
            self.bits[rows],
            self.text[rows],
            self.texts,
        )

    def numbers(self) -> Float64:
        """The numbers; NaN for texts."""
        numbers = self.bits.astype(np.float64)
        numbers[(self.kind == StatField.UNSIGNED) & (self.bits < 0)] += _TWO_TO_64
        is_double = self.kind == StatField.DOUBLE
        numbers[is_double] = self.bits[is_double].view(np.float64)
        numbers[(self.kind == StatField.TEXT) | (self.kind == StatField.REFERENCE)] = np.nan
        return numbers

    def integers(self) -> Int64:
        """The integers as two's complement; ABSENT for texts and for doubles that are none."""
        integers: Int64 = self.bits.copy()
        integers[(self.kind == StatField.TEXT) | (self.kind == StatField.REFERENCE)] = ABSENT
        rows = np.flatnonzero(self.kind == StatField.DOUBLE)
        doubles = self.bits[rows].view(np.float64)
        is_whole = (np.abs(doubles) < 2.0**62) & (np.floor(doubles) == doubles)
        integers[rows] = np.where(is_whole, np.where(is_whole, doubles, 0).astype(np.int64), ABSENT)
        return integers

    def resolve_texts(self, names: Mapping[int, str]) -> tuple[Int32, list[str]]:
        """Per value the code of its text, -1 for numbers, and the texts; a reference is the name
        with that id in ``names``, none where there is no such name."""
        codes = self.text.copy()
        rows = np.flatnonzero(self.kind == StatField.REFERENCE)
        if not rows.size:
            return codes, self.texts
        texts = list(self.texts)
        ids, inverse = np.unique(self.bits[rows], return_inverse=True)
        code_of_id = []
        for each in ids.tolist():
            code_of_id.append(len(texts) if each in names else -1)
            texts += [names[each]] if each in names else []
        codes[rows] = np.array(code_of_id, np.int32)[inverse]
        return codes, texts


def read_stats(wire: Wire, stats: Occurrences) -> tuple[StatRows, int]:
    """Read values.

    Args:
        wire: The buffer.
        stats: The messages, each with the row that owns it.

    Returns:
        The values, without those of a kind that is not read (bytes); and how many are damaged.
    """
    fields = wire.fields(stats.start, stats.end)
    kind = np.zeros(fields.count, np.int8)
    bits = np.zeros(fields.count, np.int64)
    for number, wire_type in (*NUMBERS, (StatField.REFERENCE, VARINT)):
        values = fields.pick(number, wire_type)
        kind[values.message], bits[values.message] = number, values.value
    kind[fields.pick(StatField.TEXT, DELIMITED).message] = StatField.TEXT
    start, end = fields.spans(StatField.TEXT)
    is_text = kind == StatField.TEXT
    codes, texts = distinct_texts(
        wire, np.where(is_text, start, ABSENT), np.where(is_text, end, ABSENT)
    )
    rows = StatRows(
        stats.message, fields.ints(StatField.METADATA, default=0), kind, bits, codes, texts
    )
    return rows.select(kind > 0), fields.broken


def join_stats(parts: Sequence[StatRows], offsets: Sequence[int]) -> StatRows:
    """The values of several parts; ``offsets`` are added to the owners of each."""
    known: dict[str, int] = {}
    texts = []
    for part in parts:
        codes = np.array([known.setdefault(text, len(known)) for text in part.texts] + [-1])
        texts.append(codes[part.text].astype(np.int32))
    owners = [part.owner + offset for part, offset in zip(parts, offsets, strict=True)]
    none = np.empty(0, np.int64)
    return StatRows(
        np.concatenate([none, *owners]),
        np.concatenate([none, *(part.key for part in parts)]),
        np.concatenate([none.astype(np.int8), *(part.kind for part in parts)]),
        np.concatenate([none, *(part.bits for part in parts)]),
        np.concatenate([none.astype(np.int32), *texts]),
        list(known),
    )


class NamedStats(Struct, frozen=True):
    """Values of one plane's events or metadata, by name.

    Attributes:
        rows: The values.
        names: Id of a name → the name.
        count: How many rows may own values.
    """

    rows: StatRows
    names: Mapping[int, str]
    count: int

    def _of(self, name: str) -> StatRows:
        ids = [key for key, text in self.names.items() if text == name]
        return self.rows.select(np.isin(self.rows.key, np.array(ids, np.int64)))

    def integers(self, name: str) -> Int64:
        """Per owner its integer of that name; ABSENT for none."""
        rows = self._of(name)
        column = np.full(self.count, ABSENT, np.int64)
        column[rows.owner] = rows.integers()
        return column

    def numbers(self, name: str) -> Float64:
        """Per owner its number of that name; NaN for none."""
        rows = self._of(name)
        column = np.full(self.count, np.nan, np.float64)
        column[rows.owner] = rows.numbers()
        return column

    def texts(self, name: str) -> tuple[Int32, list[str]]:
        """Per owner the code of its text of that name, -1 for none; and the texts."""
        rows = self._of(name)
        codes, texts = rows.resolve_texts(self.names)
        column = np.full(self.count, -1, np.int32)
        column[rows.owner] = codes
        return column, texts

    def has(self, name: str) -> Bools:
        """Per owner whether it has a value of that name."""
        mask = np.zeros(self.count, np.bool_)
        mask[self._of(name).owner] = True
        return mask

    def scalar(self, name: str) -> float | int | str | None:
        """The first value of that name, of a number without a fraction as an integer."""
        rows = self._of(name)
        codes, texts = rows.resolve_texts(self.names)
        if not rows.owner.size:
            return None
        if codes[0] >= 0:
            return texts[int(codes[0])]
        number = rows.numbers()[0]
        whole = rows.integers()[0]
        return int(whole) if whole != ABSENT else None if np.isnan(number) else float(number)
