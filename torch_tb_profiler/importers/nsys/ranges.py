"""Reads NVTX ranges as operators, steps and ranges of the program, and marks as instants."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.nsys.categories import (
    categories_by_kind,
    count_as_operators,
    raw_categories,
)
from torch_tb_profiler.importers.nsys.domains import RangeDomains, read_domains
from torch_tb_profiler.importers.nsys.markers import MarkerKind, ParsedMarkers, parse_markers
from torch_tb_profiler.importers.nsys.names import TraceStrings
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents, factorize, read_events
from torch_tb_profiler.importers.nsys.open_ranges import call_stacks
from torch_tb_profiler.importers.nsys.parts import (
    SliceColumns,
    SlicePart,
    build_table,
    empty_slices,
)
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.lanes import flat_lanes
from torch_tb_profiler.trace.quality import QualityReport

MAX_LANES = 32
"""Most rows of a thread for its start/end ranges; further overlapping ranges share the last."""

FORWARD, BACKWARD = 0, 1
"""``forward_thread`` of operators with a sequence number: NVTX has no thread numbers."""


class RangeTracks(Protocol):
    """The tracks that ranges are on."""

    def thread_tracks(self, threads: Int64, /) -> Int32:
        """The track of each thread."""

    def lane_tracks(self, threads: Int64, lanes: Int64, /) -> Int32:
        """The extra track of each thread and lane, for ranges that do not nest."""


class _RangeKinds(Struct, frozen=True, eq=False):
    """The parsed texts of ranges, with the position of each range's text in ``markers``."""

    markers: ParsedMarkers
    position: Int64
    kind: Int32
    category: Int32
    name_code: Int32


def read_ranges(
    database: Database, names: TraceStrings, tracks: RangeTracks, quality: QualityReport
) -> SlicePart:
    """Read the ranges of an export with their operator rows, and the marks as instants."""
    events = read_events(database, names, quality)
    if events is None:
        return SlicePart(empty_slices())
    return build_ranges(events, names, tracks, read_domains(database, events), quality)


def build_ranges(
    events: NvtxEvents,
    names: TextCodes,
    tracks: RangeTracks,
    domains: RangeDomains,
    quality: QualityReport,
) -> SlicePart:
    """The ranges among ``events`` as slices with operator rows, and the marks as instants.

    Args:
        events: The events of an annotation library with NVTX's kinds of ranges.
        names: Receives the names.
        tracks: The tracks of the threads.
        domains: The names of the events' domains.
        quality: Counts ranges that stand for operators.
    """
    ranges = events.ranges()
    is_nested = ranges.is_nested()
    kinds = _classify(names, ranges, is_nested, quality)
    raw = raw_categories(names, domains, ranges, kinds.kind, kinds.category)
    slices = SliceColumns.build(
        category=kinds.category.astype(np.int8),
        raw_category_code=raw,
        name_code=kinds.name_code,
        track=_tracks(tracks, ranges, is_nested),
        start_ns=ranges.start_ns,
        end_ns=ranges.end_ns,
    )
    tables = {"operator": _operator_table(names, ranges, kinds, is_nested)}
    marks = events.marks()
    if len(marks):
        tables["instants"] = build_table(
            "instants",
            len(marks),
            track=tracks.thread_tracks(marks.global_tid),
            name_code=_names_of(names, marks),
            time_ns=marks.start_ns,
        )
    return SlicePart(slices, tables)


def _classify(
    names: TextCodes, ranges: NvtxEvents, is_nested: Bools, quality: QualityReport
) -> _RangeKinds:
    texts, position = factorize(ranges.text)
    markers = parse_markers(texts.fill_null(""))
    kind = markers.kind[position].astype(np.int32)
    known, number = factorize(markers.name)
    labels = [name or UNNAMED for name in known.to_list()]
    name_code = names.codes(labels)[number][position]
    category = categories_by_kind(kind, is_nested)
    if not (category == Category.OPERATOR).any():
        is_substitute = count_as_operators(labels)[number][position] & is_nested
        is_substitute &= category == Category.ANNOTATION
        category[is_substitute] = Category.OPERATOR
        quality.add("ranges_as_operators", int(is_substitute.sum()))
    return _RangeKinds(markers, position, kind, category, name_code)


def _names_of(names: TextCodes, events: NvtxEvents) -> Int32:
    texts, position = factorize(events.text)
    return names.codes(text or UNNAMED for text in texts.to_list())[position]


def _tracks(tracks: RangeTracks, ranges: NvtxEvents, is_nested: Bools) -> Int32:
    """Thread tracks for nested ranges; extra tracks for others, so many that none contains
    another."""
    track = tracks.thread_tracks(ranges.global_tid)
    not_nested = np.flatnonzero(~is_nested)
    if not len(not_nested):
        return track
    start_ns, end_ns = ranges.start_ns[not_nested], ranges.end_ns[not_nested]
    order = np.lexsort((start_ns, track[not_nested]))
    lane = np.empty(len(not_nested), np.int64)
    lane[order] = flat_lanes(track[not_nested][order], start_ns[order], end_ns[order], 0)
    track[not_nested] = tracks.lane_tracks(
        ranges.global_tid[not_nested], np.minimum(lane, MAX_LANES - 1)
    )
    return track


def _operator_table(
    names: TextCodes, ranges: NvtxEvents, kinds: _RangeKinds, is_nested: Bools
) -> ColumnArrays:
    """The operator rows of ranges whose text has arguments."""
    markers, position = kinds.markers, kinds.position
    sequence_number = markers.sequence_number[position]
    columns = {
        column: _text_codes(names, getattr(markers, column))[position]
        for column in ("input_shape", "input_type", "concrete_inputs", "call_stack")
    }
    columns["call_stack"] = call_stacks(
        ranges, kinds.kind == MarkerKind.CALL_STACK, is_nested, columns["call_stack"]
    )
    has_value = np.flatnonzero(ranges.has_payload & (columns["concrete_inputs"] < 0))
    columns["concrete_inputs"][has_value] = names.codes(ranges.payload_texts(has_value))
    has_number = sequence_number != ABSENT
    rows = np.flatnonzero(has_number | np.any([code >= 0 for code in columns.values()], axis=0))
    forward_thread = np.where(markers.is_backward[position], BACKWARD, FORWARD)
    return build_table(
        "operator",
        len(rows),
        slice=rows,
        sequence_number=sequence_number[rows],
        forward_thread=np.where(has_number, forward_thread, ABSENT)[rows],
        **{f"{column}_code": code[rows] for column, code in columns.items()},
    )


def _text_codes(names: TextCodes, texts: pl.Series) -> Int32:
    if texts.null_count() == len(texts):
        return np.full(len(texts), -1, np.int32)
    known, position = factorize(texts)
    return names.codes(known.to_list())[position]
