"""The answer of the compiled decoder to a piece: arrays, and texts that are decoded when asked for.

Texts come as codes of distinct undecoded values, and a number that is not plain as its text; both
are decoded here, by msgspec, so they mean what they mean in
:mod:`~torch_tb_profiler.importers.kineto.event_structs`. The answer is written by
``native/src/output.rs``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto.event_kinds import ARGUMENT_FIELDS, EventKind
from torch_tb_profiler.importers.kineto.native_plan import FIELD_TYPES, FLOAT, TOKEN
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64

EVENTS, UNKNOWN_PAIRS = 1, 2
"""Status of an answer; any other one hands the piece back."""

Spans = npt.NDArray[np.uint32]


class OddPieceError(Exception):
    """The piece is left to the decoder in Python."""


class ArrayBlock:
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


def texts_at(text: bytes, spans: Spans) -> list[bytes]:
    """The bytes at some spans; empty for absent ones."""
    return [b"" if start == ABSENT_SPAN else text[start:end] for start, end in spans.tolist()]


def decoded(tokens: Sequence[bytes]) -> list[Any]:
    """The values of some tokens.

    Raises:
        OddPieceError: msgspec refuses one.
    """
    try:
        values: list[Any] = msgspec.json.decode(b"[" + b",".join(tokens) + b"]")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise OddPieceError from error
    return values


class Tokens(msgspec.Struct):
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
            return self.codes, texts_at(self.text, self.spans)
        codes = self.codes[rows]
        first = np.full(len(self.spans) + 1, codes.size, np.int64)
        first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # of equal codes the last one stays
        first[-1] = codes.size
        order = np.argsort(first[:-1], kind="stable")
        order = order[: np.count_nonzero(first[:-1] < codes.size)]
        renumbered = np.full(len(self.spans) + 1, -1, np.int32)
        renumbered[order] = np.arange(order.size)
        return renumbered[codes], texts_at(self.text, self.spans[order])


class Numbers(msgspec.Struct):
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
        return dict(zip(texts, decoded(list(texts.values())), strict=True)) if texts else {}

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
        return dict(zip(at.tolist(), texts_at(self.text, odd[:, 1:]), strict=True))


class KindColumns:
    """The arguments of all events of one kind."""

    ARRAYS = 5
    """Of each field: integers, floats, codes, distinct tokens, and values that are not plain."""

    def __init__(self, text: bytes, answer: ArrayBlock, first: int, kind: EventKind) -> None:
        self._text = text
        self._answer = answer
        self._first = first + 2
        self._fields = FIELD_TYPES[kind]
        self.rows = int(answer.array(first, U8)[0])
        self.other_texts = answer.array(first + 1, U4)
        self.arrays = 2 + self.ARRAYS * len(self._fields)

    def has(self, field: str) -> bool:
        """Whether the kind has this field."""
        return field in self._fields

    def is_token(self, field: str) -> bool:
        """Whether the field is no number."""
        return self._fields[field][1] == TOKEN

    def numbers(self, field: str) -> Numbers:
        """A field of numbers."""
        position, field_type = self._fields[field]
        first = self._first + self.ARRAYS * position
        is_float = field_type == FLOAT
        column = self._answer.array(first + is_float, F8 if is_float else I8)
        return Numbers(self._text, column, self._answer.odd(first + 4))

    def tokens(self, field: str) -> Tokens:
        """A field of any values."""
        first = self._first + self.ARRAYS * self._fields[field][0]
        return Tokens(self._text, self._answer.array(first + 2, I4), self._answer.spans(first + 3))


class Piece:
    """All that the decoder answered about a piece."""

    def __init__(self, text: bytes, answer: ArrayBlock) -> None:
        self.text = text
        self.group_codes: npt.NDArray[np.uint32] = answer.array(0, U4)
        self.groups = answer.array(1, U4).reshape(-1, 4)
        self.group_spans = [answer.spans(index) for index in range(2, 6)]
        self.times = {
            field: Numbers(text, answer.array(index, I8), answer.odd(index + 1))
            for field, index in (("ts", 6), ("dur", 8))
        }
        self.tokens = {
            field: Tokens(text, answer.array(index, I4), answer.spans(index + 1))
            for field, index in (("name", 10), ("id", 12))
        }
        self.arguments = answer.spans(14)
        self.rows: npt.NDArray[np.uint32] = answer.array(15, U4)
        self.kinds: dict[EventKind, KindColumns] = {}
        first = 16
        for kind in ARGUMENT_FIELDS:
            self.kinds[kind] = columns = KindColumns(text, answer, first, kind)
            first += columns.arrays

    @cached_property
    def group_values(self) -> list[list[Any]]:
        """The decoded values of phase, category, pid and tid."""
        return [
            decoded([token or b"null" for token in texts_at(self.text, spans)])
            for spans in self.group_spans
        ]
