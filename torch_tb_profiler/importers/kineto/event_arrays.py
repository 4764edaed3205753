"""Events that the compiled decoder read, an array per field.

The decoder knows no field: which arguments are read, as what, and of which events, is the plan,
which is made here from :data:`~torch_tb_profiler.importers.kineto.event_kinds.ARGUMENT_FIELDS`.
Texts come as codes of distinct undecoded values, and a number that is not plain as its text; both
are decoded here, by msgspec, so they mean what they mean in
:mod:`~torch_tb_profiler.importers.kineto.event_structs`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.decoded import Group, Mask
from torch_tb_profiler.importers.kineto.event_kinds import ARGUMENT_FIELDS, EventKind, event_kind
from torch_tb_profiler.importers.kineto.native import NativeDecoder
from torch_tb_profiler.importers.kineto.structs import (
    NO_ARGS,
    PROFILER_KEYS,
    ArgumentField,
)
from torch_tb_profiler.importers.kineto.times import Times, to_ns
from torch_tb_profiler.importers.kineto.values import (
    INT64_MAX,
    Interner,
    checked_floats,
    checked_ints,
    hashable,
    raw_codes,
    text_codes,
    text_of,
)
from torch_tb_profiler.trace.columns import ABSENT, Float64, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

EVENTS, UNKNOWN_PAIRS = 1, 2
"""Status of an answer; any other one hands the piece back."""

INTEGER, FLOAT, TOKEN = range(3)
"""How an argument is decoded."""

OTHER_TEXT = 4
"""Added where a text may be an annotation of a user."""

MAX_KNOWN_PAIRS = 256
"""Phases and categories that are remembered: recordings have a few dozen."""

Pair = tuple[bytes, bytes]
"""An undecoded phase and category; empty where absent."""

Spans = npt.NDArray[np.uint32]

_known_pairs: dict[Pair, int] = {}
"""The pairs of former pieces, so that most pieces are read at the first attempt."""


class OddPieceError(Exception):
    """The piece is left to the decoder in Python."""


def _field_type(field: ArgumentField) -> int:
    if field.default == ABSENT:
        return INTEGER
    return FLOAT if isinstance(field.default, float) else TOKEN


def _packed(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _packed_kinds() -> bytes:
    parts = [struct.pack("<I", len(ARGUMENT_FIELDS))]
    for kind, fields in ARGUMENT_FIELDS.items():
        parts.append(struct.pack("<II", kind, len(fields)))
        for field in fields.values():
            other_text = 0 if field.key in PROFILER_KEYS else OTHER_TEXT
            parts += [
                struct.pack("<I", _field_type(field) + other_text),
                _packed(field.key.encode()),
            ]
        others = sorted(PROFILER_KEYS - {field.key for field in fields.values()})
        parts.append(struct.pack("<I", len(others)))
        parts += [_packed(key.encode()) for key in others]
    return b"".join(parts)


_KINDS = _packed_kinds()

_FIELD_TYPES = {
    kind: {
        name: (position, _field_type(field))
        for position, (name, field) in enumerate(fields.items())
    }
    for kind, fields in ARGUMENT_FIELDS.items()
}
"""Kind → field → its position and how it is decoded."""


def _plan(pairs: dict[Pair, int]) -> bytes:
    """What is decoded of which events, as ``native/src/plan.rs`` reads it."""
    parts = [_KINDS, struct.pack("<I", len(pairs))]
    for (phase, category), number in pairs.items():
        parts += [_packed(phase), _packed(category), struct.pack("<I", number)]
    return b"".join(parts)


def current_plan() -> bytes:
    """The plan for the next piece, with all phases and categories so far."""
    return _plan(_known_pairs)


def decode_arrays(decoder: NativeDecoder, text: bytes) -> ArrayEvents:
    """The events of a JSON list.

    Raises:
        OddPieceError: something in it is not regular.
    """
    answer = _Answer(decoder.decode(text, current_plan()))
    if answer.status == UNKNOWN_PAIRS:
        unknown = _kinds_of_pairs(_texts(text, answer.spans(0)))
        answer = _Answer(decoder.decode(text, _plan(_known_pairs | unknown)))
        if len(_known_pairs) + len(unknown) <= MAX_KNOWN_PAIRS:
            _known_pairs.update(unknown)
    if answer.status != EVENTS:
        raise OddPieceError
    return ArrayEvents(_Piece(text, answer), None)


def _kinds_of_pairs(tokens: list[bytes]) -> dict[Pair, int]:
    """The kinds of phases and categories, which take turns in ``tokens``."""
    values = list(map(hashable, _decoded([token or b"null" for token in tokens])))
    kinds = map(event_kind, values[::2], values[1::2])
    return dict(zip(zip(tokens[::2], tokens[1::2], strict=True), kinds, strict=True))


class _Answer:
    """The arrays of an answer; each is made when it is asked for."""

    def __init__(self, block: bytearray) -> None:
        self._block = block
        self.status, count = struct.unpack_from("<QQ", block)
        self._ranges = struct.unpack_from(f"<{2 * count}Q", block, 16)

    def array(self, index: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """One of the arrays."""
        start, size = self._ranges[2 * index : 2 * index + 2]
        return np.frombuffer(self._block, dtype, size // dtype.itemsize, start)

    def spans(self, index: int) -> Spans:
        """One of the arrays, as rows of (start, end) in the piece."""
        spans: Spans = self.array(index, U4).reshape(-1, 2)
        return spans

    def odd(self, index: int) -> Spans:
        """One of the arrays, as rows of (row, start, end)."""
        odd: Spans = self.array(index, U4).reshape(-1, 3)
        return odd


U4, I4, U8, I8, F8 = map(np.dtype, ("<u4", "<i4", "<u8", "<i8", "<f8"))

ABSENT_SPAN = 2**32 - 1


def _texts(text: bytes, spans: Spans) -> list[bytes]:
    """The bytes at some spans; empty for absent ones."""
    return [b"" if start == ABSENT_SPAN else text[start:end] for start, end in spans.tolist()]


def _decoded(tokens: Sequence[bytes]) -> list[Any]:
    """The values of some tokens.

    Raises:
        OddPieceError: msgspec refuses one.
    """
    try:
        values: list[Any] = msgspec.json.decode(b"[" + b",".join(tokens) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise OddPieceError from error
    return values


class _Tokens(msgspec.Struct):
    """Codes of distinct tokens; negative where there is none."""

    text: bytes
    codes: Int32
    spans: Spans

    def chosen(self, rows: Int64 | None, count: int) -> tuple[Int32, list[bytes]]:
        """The distinct tokens of some rows in the order of their first row, and the codes of the
        rows; -1 is absent."""
        if not self.codes.size:
            return np.full(count, -1, np.int32), []
        if rows is None:
            return self.codes, _texts(self.text, self.spans)
        codes = self.codes[rows]
        first = np.full(len(self.spans) + 1, codes.size, np.int64)
        first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of equal codes the last one stays
        first[-1] = codes.size
        order = np.argsort(first[:-1], kind="stable")
        order = order[: np.count_nonzero(first[:-1] < codes.size)]
        renumbered = np.full(len(self.spans) + 1, -1, np.int32)
        renumbered[order] = np.arange(order.size)
        return renumbered[codes], _texts(self.text, self.spans[order])


def _codes_of_values(
    codes: Int32,
    values: list[Any],
    strings: Interner,
    normalize: Callable[[Any], str | None],
    absent: str | None = None,
) -> Int32:
    """:func:`text_codes` of rows, by codes of their values; -1 is None."""
    missing = np.flatnonzero(codes < 0)
    if not missing.size:
        return text_codes(values, strings, normalize, absent)[codes]
    # None takes its position among the values, for the order in which texts get their codes.
    position = int(codes[: missing[0]].max(initial=-1)) + 1
    values = [*values[:position], None, *values[position:]]
    moved = np.where(codes >= position, codes + 1, codes)
    moved[missing] = position
    return text_codes(values, strings, normalize, absent)[moved]


class _Numbers(msgspec.Struct):
    """A column of numbers; those that are not plain are undecoded beside it."""

    text: bytes
    column: npt.NDArray[Any]
    odd: Spans

    def of(self, rows: Int64 | None, count: int) -> npt.NDArray[Any]:
        """A new array of the plain ones of some rows; others are absent."""
        if not self.column.size:
            absent = np.nan if self.column.dtype == np.float64 else ABSENT
            return np.full(count, absent, self.column.dtype)
        return self.column.copy() if rows is None else self.column[rows]

    def odd_values(self, rows: Int64 | None) -> dict[int, Any]:
        """Row → value of those that are not plain."""
        texts = self.odd_texts(rows)
        return dict(zip(texts, _decoded(list(texts.values())), strict=True)) if texts else {}

    def odd_texts(self, rows: Int64 | None) -> dict[int, bytes]:
        """Row → text of those that are not plain."""
        odd = self.odd
        if not odd.size:
            return {}
        at = odd[:, 0].astype(np.int64)
        if rows is not None:
            index = np.searchsorted(rows, at)
            is_chosen = index < rows.size
            is_chosen[is_chosen] = rows[index[is_chosen]] == at[is_chosen]
            at, odd = index[is_chosen], odd[is_chosen]
        return dict(zip(at.tolist(), _texts(self.text, odd[:, 1:]), strict=True))


class _KindColumns:
    """The arguments of all events of one kind."""

    ARRAYS = 5
    """Of each field: integers, floats, codes, distinct tokens, and values that are not plain."""

    def __init__(self, text: bytes, answer: _Answer, first: int, kind: EventKind) -> None:
        self._text = text
        self._answer = answer
        self._first = first + 2
        self._fields = _FIELD_TYPES[kind]
        self.rows = int(answer.array(first, U8)[0])
        self.other_texts = answer.array(first + 1, U4)
        self.arrays = 2 + self.ARRAYS * len(self._fields)

    def has(self, field: str) -> bool:
        """Whether the kind has this field."""
        return field in self._fields

    def is_token(self, field: str) -> bool:
        """Whether the field is no number."""
        return self._fields[field][1] == TOKEN

    def numbers(self, field: str) -> _Numbers:
        """A field of numbers."""
        position, field_type = self._fields[field]
        first = self._first + self.ARRAYS * position
        is_float = field_type == FLOAT
        column = self._answer.array(first + is_float, F8 if is_float else I8)
        return _Numbers(self._text, column, self._answer.odd(first + 4))

    def tokens(self, field: str) -> _Tokens:
        """A field of any values."""
        first = self._first + self.ARRAYS * self._fields[field][0]
        return _Tokens(self._text, self._answer.array(first + 2, I4), self._answer.spans(first + 3))


class _Piece:
    """All that the decoder answered about a piece."""

    def __init__(self, text: bytes, answer: _Answer) -> None:
        self.text = text
        self.group_codes: npt.NDArray[np.uint32] = answer.array(0, U4)
        self.groups = answer.array(1, U4).reshape(-1, 4)
        self.group_spans = [answer.spans(index) for index in range(2, 6)]
        self.times = {
            field: _Numbers(text, answer.array(index, I8), answer.odd(index + 1))
            for field, index in (("ts", 6), ("dur", 8))
        }
        self.tokens = {
            field: _Tokens(text, answer.array(index, I4), answer.spans(index + 1))
            for field, index in (("name", 10), ("id", 12))
        }
        self.arguments = answer.spans(14)
        self.rows: npt.NDArray[np.uint32] = answer.array(15, U4)
        self.kinds: dict[EventKind, _KindColumns] = {}
        first = 16
        for kind in ARGUMENT_FIELDS:
            self.kinds[kind] = columns = _KindColumns(text, answer, first, kind)
            first += columns.arrays

    @cached_property
    def group_values(self) -> list[list[Any]]:
        """The decoded values of phase, category, pid and tid."""
        return [
            _decoded([token or b"null" for token in _texts(self.text, spans)])
            for spans in self.group_spans
        ]


class ArrayArguments:
    """Arguments as arrays: a
    :class:`~torch_tb_profiler.importers.kineto.decoded.DecodedArguments`."""

    def __init__(self, columns: _KindColumns, rows: Int64, text: bytes, spans: Spans) -> None:
        """Choose some events of one kind.

        Args:
            columns: The arguments of all events of the kind.
            rows: Which of them, ascending.
            text: The piece.
            spans: Where the arguments of the chosen events are.
        """
        self._columns = columns
        self._rows = None if rows.size == columns.rows else rows
        self._size = rows.size
        self._text = text
        self._spans = spans

    def __len__(self) -> int:
        return self._size

    def has_field(self, field: str) -> bool:
        """Whether the kind has it."""
        return self._size > 0 and self._columns.has(field)

    def rows_with(self, field: str) -> Mask:
        """Which have a value."""
        if self._columns.is_token(field):
            codes, texts = self._columns.tokens(field).chosen(self._rows, self._size)
            if not texts:
                return np.zeros(self._size, np.bool_)
            is_null = np.array([text == b"null" for text in texts] + [True], np.bool_)
            return ~is_null[codes]
        column, odd = self._numbers(field)
        present: Mask = ~np.isnan(column) if column.dtype == np.float64 else column != ABSENT
        present[list(odd)] = True
        return present

    def rows_with_other_texts(self) -> Mask:
        """Which may have a text that no profiler writes."""
        present = np.zeros(self._columns.rows, np.bool_)
        present[self._columns.other_texts] = True
        return present if self._rows is None else present[self._rows]

    def integers(
        self, field: str, quality: QualityReport, key: str, maximum: int = INT64_MAX
    ) -> Int64:
        """The integers of a field."""
        odd = self._columns.numbers(field).odd_values(self._rows)
        return checked_ints(
            self._columns.numbers(field).of(self._rows, self._size), odd, quality, key, maximum
        )

    def floats(self, field: str, quality: QualityReport, key: str) -> Float64:
        """The numbers of a field."""
        odd = self._columns.numbers(field).odd_values(self._rows)
        return checked_floats(
            self._columns.numbers(field).of(self._rows, self._size), odd, quality, key
        )

    def text_codes(
        self,
        field: str,
        strings: Interner,
        normalize: Callable[[Any], str | None] | None = None,
        extract: Callable[[Any], Any] | None = None,
    ) -> Int32:
        """The codes of the texts of a field."""
        codes, texts = self._columns.tokens(field).chosen(self._rows, self._size)
        if not texts:
            return codes
        values = _decoded(texts)
        if extract is not None:
            values = list(map(extract, values))
        return _codes_of_values(codes, values, strings, normalize or text_of)

    def list_codes(self, field: str, strings: Interner) -> Int32:
        """The codes of the lists of a field."""
        codes, texts = self._columns.tokens(field).chosen(self._rows, self._size)
        return (
            np.append(raw_codes(list(map(msgspec.Raw, texts)), strings), np.int32(-1))[codes]
            if texts
            else codes
        )

    def raws(self, rows: Sequence[int]) -> list[msgspec.Raw]:
        """Some of the undecoded arguments."""
        return _raws(self._text, self._spans[rows])

    def values(self, field: str, rows: Sequence[int]) -> list[Any]:
        """Some values of a field."""
        column, odd = self._numbers(field)
        values = column[rows].tolist()
        return [odd.get(row, value) for row, value in zip(rows, values, strict=True)]

    def _numbers(self, field: str) -> tuple[npt.NDArray[Any], dict[int, Any]]:
        """A new array of the plain numbers of a field, and the values of the others by row."""
        numbers = self._columns.numbers(field)
        return numbers.of(self._rows, self._size), numbers.odd_values(self._rows)


def _raws(text: bytes, spans: Spans) -> list[msgspec.Raw]:
    return [
        NO_ARGS if start == ABSENT_SPAN else msgspec.Raw(text[start:end])
        for start, end in spans.tolist()
    ]


class ArrayEvents:
    """Events as arrays (:class:`~torch_tb_profiler.importers.kineto.decoded.DecodedEvents`)."""

    def __init__(self, piece: _Piece, rows: Int64 | None) -> None:
        """Choose some events of a piece, or all (None)."""
        self._piece = piece
        self._rows = rows
        self._size = piece.group_codes.size if rows is None else rows.size

    def __len__(self) -> int:
        return self._size

    def select(self, chosen: Mask) -> ArrayEvents:
        """The chosen ones of these events."""
        if chosen.all():
            return self
        rows = np.flatnonzero(chosen)
        return ArrayEvents(self._piece, rows if self._rows is None else self._rows[rows])

    def groups(self) -> tuple[Int32, list[Group]]:
        """The group of each event, and the groups."""
        values = self._piece.group_values
        tokens = [
            tuple(values[part][code] for part, code in enumerate(group))
            for group in self._piece.groups.tolist()
        ]
        groups = Interner()
        try:
            codes = [groups[group] for group in tokens]
        except TypeError:  # an id that is a list or an object
            groups.clear()
            codes = [groups[tuple(map(hashable, group))] for group in tokens]
        return np.array(codes, np.int32)[self._of_rows(self._piece.group_codes)], list(groups)

    def times(self, field: str) -> Times:
        """``ts`` or ``dur``."""
        numbers = self._piece.times[field]
        ns = numbers.of(self._rows, self._size)
        has_fraction = bool(np.any((ns % 1000 != 0) & (ns != ABSENT)))
        odd = numbers.odd_texts(self._rows)
        if not odd:
            return Times(ns, has_fraction, 0)
        others = to_ns(list(map(msgspec.Raw, odd.values())))
        ns[list(odd)] = others.ns
        return Times(ns, has_fraction or others.has_fraction, others.strings)

    def text_codes(self, field: str, strings: Interner, absent: str | None = None) -> Int32:
        """The codes of ``name`` or ``id``."""
        codes, texts = self._piece.tokens[field].chosen(self._rows, self._size)
        return _codes_of_values(codes, _decoded(texts), strings, text_of, absent)

    def values(self, field: str) -> list[Any]:
        """A field of every event."""
        if field in self._piece.tokens:
            codes, texts = self._piece.tokens[field].chosen(self._rows, self._size)
            values = [*_decoded(texts), None]
            return [values[code] for code in codes.tolist()]
        part = ("ph", "cat", "pid", "tid").index(field)
        values = self._piece.group_values[part]
        codes = self._piece.groups[self._of_rows(self._piece.group_codes), part]
        return [values[code] for code in codes.tolist()]

    def arguments(self, kind: EventKind, _quality: QualityReport) -> ArrayArguments:
        """The decoded arguments of these events; repairs are none."""
        piece = self._piece
        rows = self._of_rows(piece.rows).astype(np.int64)
        return ArrayArguments(piece.kinds[kind], rows, piece.text, self._of_rows(piece.arguments))

    def raw_arguments(self) -> list[msgspec.Raw]:
        """The undecoded arguments of every event."""
        return _raws(self._piece.text, self._of_rows(self._piece.arguments))

    def _of_rows(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return column if self._rows is None else column[self._rows]
