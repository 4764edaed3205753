"""Arguments of the slices of a piece, by name. Arguments without a target are not decoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.pftrace.annotations import InternedText, annotation_value
from torch_tb_profiler.importers.pftrace.argument_targets import INT_FORMS, TARGETS, Form
from torch_tb_profiler.importers.pftrace.batch import Argument
from torch_tb_profiler.importers.pftrace.fields import (
    DebugAnnotation,
    GpuRenderStageEvent,
    InternedData,
)
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.importers.protobuf.texts import decimal_numbers, distinct_ranges
from torch_tb_profiler.importers.protobuf.wire import Fields, Occurrences, stable_order
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64

NamedArguments = list[tuple[int, Argument]]
"""Pairs of the code of a name and the argument."""


class _Rows(Struct, frozen=True):
    """Arguments, one per row.

    Attributes:
        slice: The slice of each.
        ints: Its value if it is encoded as an integer; else :data:`ABSENT`.
        start: Start of its value if it is encoded as text; else :data:`ABSENT`.
        end: End of that text.
        encoded: Start and end of the bytes that ``decode`` reads.
        text: Code of its value if that is an interned text; else -1.
        decode: Bytes → the value.
    """

    slice: Int64
    ints: Int64
    start: Int64
    end: Int64
    encoded: tuple[Int64, Int64]
    text: Int32
    decode: Callable[[bytes], Any]

    def select(self, rows: Int64) -> _Rows:
        encoded = self.encoded[0][rows], self.encoded[1][rows]
        return _Rows(
            self.slice[rows], self.ints[rows], self.start[rows], self.end[rows], encoded,
            self.text[rows], self.decode,
        )  # fmt: skip


def debug_annotations(
    texts: PieceTexts, messages: Occurrences, row: Int64, packet: Int64
) -> NamedArguments:
    """The arguments in debug annotations.

    Args:
        texts: The texts of the piece.
        messages: The annotations.
        row: The slice of each; -1 for none.
        packet: The packet of each.
    """
    names = texts.leading(messages, DebugAnnotation.NAME)
    if names is None:
        return _decoded_annotations(texts, _Annotations(messages, row, packet, None))
    key, ends = names
    used = np.flatnonzero(_are_read(texts, key, row))
    annotations = _Annotations(
        _after_names(ends, messages, used), row[used], packet[used], key[used]
    )
    is_list = _are_lists(texts)[annotations.key]
    lists, others = annotations.select(is_list), annotations.select(~is_list)
    arguments = _lists(texts, lists)
    if any(isinstance(value, InternedText) for _, each in arguments for value in each.values):
        return _decoded_annotations(texts, annotations)
    return arguments + _decoded_annotations(texts, others)


def _after_names(end: Int64, messages: Occurrences, rows: Int64) -> Occurrences:
    """The parts of some messages after their names."""
    start, message_end = end[rows], messages.end[rows]
    return Occurrences(messages.message[rows], message_end - start, start, message_end)


class _Annotations(NamedTuple):
    """Debug annotations: messages, slices, packets, and codes of names if these are known."""

    messages: Occurrences
    row: Int64
    packet: Int64
    key: Int32 | None

    def select(self, rows: Bools) -> _Annotations:
        key = None if self.key is None else self.key[rows]
        return _Annotations(self.messages.select(rows), self.row[rows], self.packet[rows], key)


def _lists(texts: PieceTexts, annotations: _Annotations) -> NamedArguments:
    """Arguments that are lists; only the distinct ones are decoded."""
    messages, absent = annotations.messages, np.full(annotations.row.size, ABSENT, np.int64)
    no_text = np.full(annotations.row.size, -1, np.int32)
    encoded = messages.start, messages.end
    rows = _Rows(annotations.row, absent, absent, absent, encoded, no_text, annotation_value)
    assert annotations.key is not None
    return _by_name(texts, rows, annotations.key)


def _decoded_annotations(texts: PieceTexts, annotations: _Annotations) -> NamedArguments:
    messages, row, packet, key = annotations
    fields = texts.wire.fields(messages.start, messages.end)
    texts.quality.add("broken_message", fields.broken)
    if key is None:
        key = texts.first(
            texts.inline(*fields.spans(DebugAnnotation.NAME)),
            texts.interned(
                InternedData.ANNOTATION_NAME, fields.ints(DebugAnnotation.NAME_IID), packet
            ),
        )
    ints = _ints(
        fields,
        (DebugAnnotation.INT, DebugAnnotation.UINT, DebugAnnotation.BOOL, DebugAnnotation.POINTER),
    )
    text = texts.interned(InternedData.TEXT, fields.ints(DebugAnnotation.TEXT_IID), packet)
    encoded = messages.start, messages.end
    spans = fields.spans(DebugAnnotation.TEXT)
    rows = _Rows(row, ints, *spans, encoded, text, annotation_value)
    return _by_name(texts, rows, key)


def _are_lists(texts: PieceTexts) -> Bools:
    """Per code of a name, whether the argument is a list."""
    forms = [TARGETS[name].form if name in TARGETS else None for name in texts.codes]
    return np.array([form is Form.LIST for form in forms], np.bool_)


def extra_data(texts: PieceTexts, messages: Occurrences, row: Int64) -> NamedArguments:
    """The arguments in the extra data of render stages, which are pairs of texts."""
    names = texts.leading(messages, GpuRenderStageEvent.EXTRA_NAME)
    key = None
    if names is not None:
        key, ends = names
        used = np.flatnonzero(_are_read(texts, key, row))
        messages, row, key = _after_names(ends, messages, used), row[used], key[used]
    fields = texts.wire.fields(messages.start, messages.end)
    texts.quality.add("broken_message", fields.broken)
    if key is None:
        key = texts.inline(*fields.spans(GpuRenderStageEvent.EXTRA_NAME))
    start, end = fields.spans(GpuRenderStageEvent.EXTRA_VALUE)
    absent = np.full(row.size, ABSENT, np.int64)
    row = np.where(start != ABSENT, row, -1)
    no_text = np.full(row.size, -1, np.int32)
    rows = _Rows(row, absent, start, end, (start, end), no_text, _decode_text)
    return _by_name(texts, rows, key)


def launch_arguments(
    texts: PieceTexts, messages: Occurrences, row: Int64, packet: Int64
) -> NamedArguments:
    """The arguments of launches: integers with interned names."""
    fields = texts.wire.fields(messages.start, messages.end)
    value = fields.ints(GpuRenderStageEvent.ARGUMENT_VALUE)
    key = texts.interned(
        InternedData.ARGUMENT, fields.ints(GpuRenderStageEvent.ARGUMENT_IID), packet
    )
    row = np.where(value == ABSENT, -1, row)
    absent = np.full(row.size, ABSENT, np.int64)
    no_text = np.full(row.size, -1, np.int32)
    rows = _Rows(row, value, absent, absent, (absent, absent), no_text, _decode_text)
    return _by_name(texts, rows, key)


def _are_read(texts: PieceTexts, key: Int32, row: Int64) -> Bools:
    """Which arguments belong to slices and have a target, are requested, or have a name that is not
    resolved yet."""
    is_known = [
        not isinstance(name, str) or name in TARGETS or name in texts.requested
        for name in texts.codes
    ]
    are_read: Bools = np.array([*is_known, False])[key] & (row >= 0)
    return are_read


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _ints(fields: Fields, numbers: tuple[int, ...]) -> Int64:
    """The first present one of several fields, per message."""
    values = fields.ints(numbers[0])
    for number in numbers[1:]:
        is_absent = values == ABSENT
        if not is_absent.any():
            break
        values = np.where(is_absent, fields.ints(number), values)
    return values


def _by_name(texts: PieceTexts, rows: _Rows, key: Int32) -> NamedArguments:
    """Group the rows that may be read by name."""
    names = list(texts.codes)
    used = np.flatnonzero(_are_read(texts, key, rows.slice))
    order = used[stable_order(key[used])]
    sorted_key = key[order]
    edges = np.flatnonzero(np.diff(sorted_key, prepend=-1))
    arguments: NamedArguments = []
    for group in np.split(order, edges[1:]) if edges.size else []:
        code = int(key[group[0]])
        name = names[code]
        target = TARGETS.get(name) if isinstance(name, str) else None
        is_int = target is None or target.form in INT_FORMS
        if target is None and isinstance(name, str):  # requested: a text of digits is a text
            is_int = bool((rows.ints[group] != ABSENT).all())
        arguments += [
            (code, argument) for argument in _arguments(texts, rows.select(group), is_int)
        ]
    return arguments


def _arguments(texts: PieceTexts, rows: _Rows, is_int: bool) -> list[Argument]:
    """The values of one name."""
    ints = rows.ints
    if is_int and (ints == ABSENT).any():
        numbers, _ = decimal_numbers(texts.wire, rows.start, rows.end)
        ints = np.where(ints == ABSENT, numbers, ints)
    if is_int and (ints != ABSENT).all():
        return [Argument(rows.slice, ints=ints)]
    is_interned = rows.text >= 0
    parts: list[Argument] = []
    if is_interned.any():
        some = np.flatnonzero(is_interned)
        distinct, code = np.unique(rows.text[some], return_inverse=True)
        known = list(texts.codes)
        values = [known[each] for each in distinct.tolist()]
        parts.append(Argument(rows.slice[some], codes=code.astype(np.int32), values=values))
    some = np.flatnonzero(~is_interned)
    if some.size:
        start, end = rows.encoded
        codes, ranges = distinct_ranges(texts.wire, start[some], end[some])
        values = [rows.decode(data) for data in ranges]
        parts.append(Argument(rows.slice[some], codes=codes, values=values))
    return parts
