"""Arguments of the slices of a piece, by their names. What nobody reads is left where it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

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

Given = list[tuple[int, Argument]]
"""(Code of the name, argument)."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Arguments, one per row.

    Attributes:
        slice: Whose each is.
        ints: Its value where it is written as an integer; else :data:`ABSENT`.
        start: Where the text of its value begins; :data:`ABSENT` where it is none.
        end: Where that ends.
        whole: Start and end of what ``decode`` reads.
        text: Code of its value where that is an interned text; else -1.
        decode: Bytes → the value.
    """

    slice: Int64
    ints: Int64
    start: Int64
    end: Int64
    whole: tuple[Int64, Int64]
    text: Int32
    decode: Callable[[bytes], Any]

    def of(self, rows: Int64) -> _Rows:
        whole = self.whole[0][rows], self.whole[1][rows]
        return _Rows(
            self.slice[rows], self.ints[rows], self.start[rows], self.end[rows], whole,
            self.text[rows], self.decode,
        )  # fmt: skip


def debug_annotations(texts: PieceTexts, picked: Occurrences, row: Int64, packet: Int64) -> Given:
    """Debug annotations.

    Args:
        texts: Of the piece.
        picked: The messages.
        row: The slice of each, or -1.
        packet: The packet of each.
    """
    names = texts.leading(picked, DebugAnnotation.NAME)
    if names is None:
        return _decoded_annotations(texts, _Named(picked, row, packet, None))
    key, ends = names
    kept = np.flatnonzero(_are_read(texts, key, row))
    named = _Named(_behind(ends, picked, kept), row[kept], packet[kept], key[kept])
    is_list = _are_lists(texts)[named.key]
    lists, others = named.of(is_list), named.of(~is_list)
    given = _lists(texts, lists)
    if any(isinstance(value, InternedText) for _, one in given for value in one.values):
        return _decoded_annotations(texts, named)
    return given + _decoded_annotations(texts, others)


def _behind(end: Int64, picked: Occurrences, rows: Int64) -> Occurrences:
    """Some messages from the end of their names on."""
    start, behind = end[rows], picked.end[rows]
    return Occurrences(picked.message[rows], behind - start, start, behind)


class _Named(NamedTuple):
    """Debug annotations: messages, slices, packets, and codes of names where these are known."""

    picked: Occurrences
    row: Int64
    packet: Int64
    key: Int32 | None

    def of(self, rows: Bools) -> _Named:
        key = None if self.key is None else self.key[rows]
        return _Named(self.picked.of(rows), self.row[rows], self.packet[rows], key)


def _lists(texts: PieceTexts, named: _Named) -> Given:
    """Lists, of which only the distinct ones are looked into."""
    picked, nothing = named.picked, np.full(named.row.size, ABSENT, np.int64)
    no_text = np.full(named.row.size, -1, np.int32)
    whole = picked.start, picked.end
    rows = _Rows(named.row, nothing, nothing, nothing, whole, no_text, annotation_value)
    assert named.key is not None
    return _by_name(texts, rows, named.key)


def _decoded_annotations(texts: PieceTexts, named: _Named) -> Given:
    picked, row, packet, key = named
    fields = texts.wire.fields(picked.start, picked.end)
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
    whole = picked.start, picked.end
    spans = fields.spans(DebugAnnotation.TEXT)
    rows = _Rows(row, ints, *spans, whole, text, annotation_value)
    return _by_name(texts, rows, key)


def _are_lists(texts: PieceTexts) -> Bools:
    """Per code whether it names an argument that is a list."""
    forms = [TARGETS[name].form if name in TARGETS else None for name in texts.codes]
    return np.array([form is Form.LIST for form in forms], np.bool_)


def extra_data(texts: PieceTexts, picked: Occurrences, row: Int64) -> Given:
    """The extra data of render stages: pairs of texts."""
    names = texts.leading(picked, GpuRenderStageEvent.EXTRA_NAME)
    key = None
    if names is not None:
        key, ends = names
        kept = np.flatnonzero(_are_read(texts, key, row))
        picked, row, key = _behind(ends, picked, kept), row[kept], key[kept]
    fields = texts.wire.fields(picked.start, picked.end)
    texts.quality.add("broken_message", fields.broken)
    if key is None:
        key = texts.inline(*fields.spans(GpuRenderStageEvent.EXTRA_NAME))
    start, end = fields.spans(GpuRenderStageEvent.EXTRA_VALUE)
    nothing = np.full(row.size, ABSENT, np.int64)
    is_there = start != ABSENT
    row = np.where(is_there, row, -1)
    no_text = np.full(row.size, -1, np.int32)
    rows = _Rows(row, nothing, start, end, (start, end), no_text, _decoded)
    return _by_name(texts, rows, key)


def launch_arguments(texts: PieceTexts, picked: Occurrences, row: Int64, packet: Int64) -> Given:
    """The arguments of a launch: numbers, whose names are interned."""
    fields = texts.wire.fields(picked.start, picked.end)
    value = fields.ints(GpuRenderStageEvent.ARGUMENT_VALUE)
    key = texts.interned(
        InternedData.ARGUMENT, fields.ints(GpuRenderStageEvent.ARGUMENT_IID), packet
    )
    row = np.where(value == ABSENT, -1, row)
    nothing = np.full(row.size, ABSENT, np.int64)
    no_text = np.full(row.size, -1, np.int32)
    rows = _Rows(row, value, nothing, nothing, (nothing, nothing), no_text, _decoded)
    return _by_name(texts, rows, key)


def _are_read(texts: PieceTexts, key: Int32, row: Int64) -> Bools:
    """Which arguments are of slices and may be read, by the codes of their names."""
    is_known = [not isinstance(name, str) or name in TARGETS for name in texts.codes]
    are_read: Bools = np.array([*is_known, False])[key] & (row >= 0)
    return are_read


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _ints(fields: Fields, numbers: tuple[int, ...]) -> Int64:
    """The first of these fields that each message has."""
    values = fields.ints(numbers[0])
    for number in numbers[1:]:
        is_open = values == ABSENT
        if not is_open.any():
            break
        values = np.where(is_open, fields.ints(number), values)
    return values


def _by_name(texts: PieceTexts, rows: _Rows, key: Int32) -> Given:
    """Rows by their names, those that are read or whose names are not known yet."""
    names = list(texts.codes)
    kept = np.flatnonzero(_are_read(texts, key, rows.slice))
    order = kept[stable_order(key[kept])]
    sorted_key = key[order]
    edges = np.flatnonzero(np.diff(sorted_key, prepend=-1))
    given: Given = []
    for some in np.split(order, edges[1:]) if edges.size else []:
        code = int(key[some[0]])
        name = names[code]
        target = TARGETS.get(name) if isinstance(name, str) else None
        is_int = target is None or target.form in INT_FORMS
        given += [(code, argument) for argument in _arguments(texts, rows.of(some), is_int)]
    return given


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
        distinct, place = np.unique(rows.text[some], return_inverse=True)
        known = list(texts.codes)
        values = [known[code] for code in distinct.tolist()]
        parts.append(Argument(rows.slice[some], codes=place.astype(np.int32), values=values))
    some = np.flatnonzero(~is_interned)
    if some.size:
        start, end = rows.whole
        codes, ranges = distinct_ranges(texts.wire, start[some], end[some])
        values = [rows.decode(data) for data in ranges]
        parts.append(Argument(rows.slice[some], codes=codes, values=values))
    return parts
