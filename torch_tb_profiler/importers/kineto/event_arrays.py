"""Events that the compiled decoder read, an array per field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.decoded import Group, Mask
from torch_tb_profiler.importers.kineto.event_kinds import EventKind
from torch_tb_profiler.importers.kineto.native import NativeDecoder
from torch_tb_profiler.importers.kineto.native_answer import (
    ABSENT_SPAN,
    EVENTS,
    UNKNOWN_PAIRS,
    ArrayBlock,
    KindColumns,
    OddPieceError,
    Piece,
    Spans,
    decoded,
    texts_at,
)
from torch_tb_profiler.importers.kineto.native_plan import current_plan, plan_with
from torch_tb_profiler.importers.kineto.structs import NO_ARGS
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


def decode_arrays(decoder: NativeDecoder, text: bytes) -> ArrayEvents:
    """The events of a JSON list.

    Raises:
        OddPieceError: something in it is not regular.
    """
    answer = ArrayBlock(decoder.decode(text, current_plan()))
    if answer.status == UNKNOWN_PAIRS:
        tokens = texts_at(text, answer.spans(0))
        pairs = list(zip(tokens[::2], tokens[1::2], strict=True))
        values = decoded([token or b"null" for token in tokens])
        answer = ArrayBlock(decoder.decode(text, plan_with(pairs, values)))
    if answer.status != EVENTS:
        raise OddPieceError
    return ArrayEvents(Piece(text, answer), None)


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


class ArrayArguments:
    """Arguments as arrays: a
    :class:`~torch_tb_profiler.importers.kineto.decoded.DecodedArguments`."""

    def __init__(self, columns: KindColumns, rows: Int64, text: bytes, spans: Spans) -> None:
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
        if column.dtype == np.float64:
            present: Mask = ~np.isnan(column)
            present[list(odd)] = True
            return present
        present = column != ABSENT
        present[[row for row, value in odd.items() if value != ABSENT]] = True
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
        values = decoded(texts)
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

    def __init__(self, piece: Piece, rows: Int64 | None) -> None:
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
        return _codes_of_values(codes, decoded(texts), strings, text_of, absent)

    def values(self, field: str) -> list[Any]:
        """A field of every event."""
        if field in self._piece.tokens:
            codes, texts = self._piece.tokens[field].chosen(self._rows, self._size)
            values = [*decoded(texts), None]
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
