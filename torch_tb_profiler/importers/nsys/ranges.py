"""NVTX: ranges of threads as operators, steps and ranges of the program, marks as instants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.importers.nsys.categories import (
    categories_of,
    count_as_operators,
    raw_categories,
)
from torch_tb_profiler.importers.nsys.domains import domain_names
from torch_tb_profiler.importers.nsys.markers import Kind, Markers, read_markers
from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents, numbered, read_events
from torch_tb_profiler.importers.nsys.parts import Part, Slices, no_slices, rows_of
from torch_tb_profiler.importers.nsys.places import call_stacks
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.lanes import flat_lanes
from torch_tb_profiler.trace.quality import QualityReport

MOST_LANES = 32
"""Rows of a thread for its start/end ranges; what overlaps more of them shares the last."""

FORWARD, BACKWARD = 0, 1
"""``forward_thread`` of operators with a sequence number: NVTX numbers no threads."""


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What the texts of some events say, a row per event."""

    markers: Markers
    place: Int64
    kind: Int32
    category: Int32
    name_code: Int32


def read_ranges(database: Database, names: Names, tracks: Tracks, quality: QualityReport) -> Part:
    """The ranges of an export, with their operator rows, and marks as instants."""
    events = read_events(database, names, quality)
    if events is None:
        return Part(no_slices())
    ranges = events.ranges()
    is_nested = ranges.nests()
    told = _told(names, ranges, is_nested, quality)
    raw = raw_categories(names, domain_names(database, events), ranges, told.kind, told.category)
    slices = Slices.of(
        category=told.category.astype(np.int8),
        raw_category_code=raw,
        name_code=told.name_code,
        track=_tracks(tracks, ranges, is_nested),
        start_ns=ranges.start_ns,
        end_ns=ranges.end_ns,
    )
    tables = {"operator": _operators(names, ranges, told, is_nested)}
    marks = events.marks()
    if len(marks):
        tables["instants"] = rows_of(
            "instants",
            len(marks),
            track=tracks.of_threads(marks.global_tid),
            name_code=_names_of(names, marks),
            time_ns=marks.start_ns,
        )
    return Part(slices, tables)


def _told(names: Names, ranges: NvtxEvents, is_nested: Bools, quality: QualityReport) -> _Told:
    texts, place = numbered(ranges.text)
    markers = read_markers(texts.fill_null("").to_list())
    kind = markers.kind[place].astype(np.int32)
    known, number = numbered(markers.name)
    listed = [name or UNNAMED for name in known.to_list()]
    name_code = names.codes(listed)[number][place]
    category = categories_of(kind, is_nested)
    if not (category == Category.OPERATOR).any():
        stands_in = count_as_operators(listed)[number][place] & is_nested
        stands_in &= category == Category.ANNOTATION
        category[stands_in] = Category.OPERATOR
        quality.add("ranges_as_operators", int(stands_in.sum()))
    return _Told(markers, place, kind, category, name_code)


def _names_of(names: Names, events: NvtxEvents) -> Int32:
    texts, place = numbered(events.text)
    return names.codes(text or UNNAMED for text in texts.to_list())[place]


def _tracks(tracks: Tracks, ranges: NvtxEvents, is_nested: Bools) -> Int32:
    """Threads for ranges that nest; for others rows of their own, so many that none of them lies
    in another."""
    track = tracks.of_threads(ranges.global_tid)
    apart = np.flatnonzero(~is_nested)
    if not len(apart):
        return track
    start_ns, end_ns = ranges.start_ns[apart], ranges.end_ns[apart]
    order = np.lexsort((start_ns, track[apart]))
    lane = np.empty(len(apart), np.int64)
    lane[order] = flat_lanes(track[apart][order], start_ns[order], end_ns[order], 0)
    track[apart] = tracks.of_lanes(ranges.global_tid[apart], np.minimum(lane, MOST_LANES - 1))
    return track


def _operators(names: Names, ranges: NvtxEvents, told: _Told, is_nested: Bools) -> ColumnArrays:
    """The rows of the operators that the texts say something of."""
    markers, place = told.markers, told.place
    sequence_number = markers.sequence_number[place]
    columns = {
        column: _text_codes(names, getattr(markers, column))[place]
        for column in ("input_shape", "input_type", "concrete_inputs", "call_stack")
    }
    columns["call_stack"] = call_stacks(
        ranges, told.kind == Kind.CALL_STACK, is_nested, columns["call_stack"]
    )
    has_value = np.flatnonzero(ranges.has_payload & (columns["concrete_inputs"] < 0))
    columns["concrete_inputs"][has_value] = names.codes(ranges.payload_texts(has_value))
    has_number = sequence_number != ABSENT
    rows = np.flatnonzero(has_number | np.any([code >= 0 for code in columns.values()], axis=0))
    forward_thread = np.where(markers.is_backward[place], BACKWARD, FORWARD)
    return rows_of(
        "operator",
        len(rows),
        slice=rows,
        sequence_number=sequence_number[rows],
        forward_thread=np.where(has_number, forward_thread, ABSENT)[rows],
        **{f"{column}_code": code[rows] for column, code in columns.items()},
    )


def _text_codes(names: Names, texts: pl.Series) -> Int32:
    if texts.null_count() == len(texts):
        return np.full(len(texts), -1, np.int32)
    known, place = numbered(texts)
    return names.codes(known.to_list())[place]
