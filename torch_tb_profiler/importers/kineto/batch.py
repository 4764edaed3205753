"""Events of one piece of a file → a batch of columns, with its own strings and tracks.

A batch depends only on its piece, so pieces can be read in any process and order;
:mod:`~torch_tb_profiler.importers.kineto.merge` joins the batches in file order.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from torch_tb_profiler.importers.kineto import structs, tables
from torch_tb_profiler.importers.kineto.categories import category_of
from torch_tb_profiler.importers.kineto.decode import decode_args
from torch_tb_profiler.importers.kineto.decoded import DecodedArguments, DecodedEvents, Mask
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.importers.kineto.event_kinds import (
    FIRST_SLICE_KIND,
    SLICE_KINDS,
    EventKind,
    event_kind,
)
from torch_tb_profiler.importers.kineto.named_arguments import copy_arguments, node_arguments
from torch_tb_profiler.importers.kineto.range_arguments import range_arguments
from torch_tb_profiler.importers.kineto.requested import requested_tables
from torch_tb_profiler.importers.kineto.stated import stated_table
from torch_tb_profiler.importers.kineto.values import (
    Interner,
    float_column,
    text_codes,
    text_of,
)
from torch_tb_profiler.importers.requested_arguments import RequestedArguments
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

USABLE_NS = 2**62
"""Larger times (after the year 2116) are damage; the sum of two smaller ones does not overflow."""

UNNAMED = "(unnamed)"
MEMORY_NAMES = ("[memory]", "[OutOfMemory]")
PHASES = ("X", "B", "E")

NONE_REQUESTED = RequestedArguments()

PRECEDING = "preceding"
"""An extra table, for dialects that read memory events themselves: per row of ``memory`` the
``slice`` before it in the file; negative if it is unknown."""

TASKS = "tasks"
"""An extra table: :func:`~torch_tb_profiler.importers.kineto.tables.task_table`."""

NO_ROW = -(2**62)
"""Negative in every batch, whatever row offset the merge adds."""

Declaration = tuple[str, str, str]
"""What an M event declares: (event name, pid, tid)."""


class EventBatch(msgspec.Struct):
    """Columns of one piece. Codes, tracks and slice rows are numbered within the batch.

    Attributes:
        tables: Parts of the tables of ``EventColumns``, and extra tables. ``slices`` has a column
            ``phase`` (0 for X, 1 for B, 2 for E); times are as in the file, durations may be
            absent.
        strings: The strings that ``*_code`` columns refer to.
        tracks: The (pid, tid) that ``track`` columns refer to.
        declared: Names and sort indices of processes and threads, by M event; the last one counts.
        quality: Problems in the piece.
        has_fraction: Whether any time is not a whole number of microseconds.
        tail: The text after the event array, if the array ends in this piece.
        between: What stands between the arrays of several objects, as if these had no events.
        joined: How many further objects begin in this piece.
    """

    tables: dict[str, list[ColumnArrays]] = msgspec.field(default_factory=dict)
    strings: list[str] = msgspec.field(default_factory=list)
    tracks: list[tuple[str, str]] = msgspec.field(default_factory=list)
    declared: dict[Declaration, Any] = msgspec.field(default_factory=dict)
    quality: QualityReport = msgspec.field(default_factory=QualityReport)
    has_fraction: bool = False
    tail: bytes | None = None
    between: bytes = b""
    joined: int = 0


def build_batch(
    events: DecodedEvents,
    *,
    python_frames: bool = True,
    dialect: Dialect | None = None,
    requested: RequestedArguments = NONE_REQUESTED,
) -> EventBatch:
    """Convert events to columns.

    Args:
        events: Decoded events in file order.
        python_frames: Whether Python frames and modules are read; otherwise they are only counted.
        dialect: The dialect of the file; None for Kineto's own, or if it is not known yet.
        requested: Arguments that are read besides those that columns model.
    """
    return _BatchBuilder(events, python_frames, dialect, requested).batch


class _BatchBuilder:
    """Builds one batch; its steps share the interners and the group of every event."""

    def __init__(
        self,
        events: DecodedEvents,
        python_frames: bool,
        dialect: Dialect | None,
        requested: RequestedArguments,
    ) -> None:
        self.batch = EventBatch()
        self._requested = requested
        self._read_slices = None if dialect is None else dialect.read_slices
        self._read_memory = None if dialect is None else dialect.read_memory
        self.strings = Interner()
        self.tracks = Interner()
        codes, self.group_parts = events.groups()
        self._classify_groups()
        kind = self.group_kind[codes]
        quality = self.batch.quality
        if not python_frames:
            is_frame = kind == EventKind.PYTHON_SLICE
            quality.add("python_frames_left_out", int(is_frame.sum()))
            kind[is_frame] = EventKind.IGNORED
        quality.add("unknown_phase", int((kind == EventKind.UNREAD_PHASE).sum()))
        quality.add("empty_event", int((kind == EventKind.EMPTY).sum()))
        self._slices(events, codes, kind)
        self._instants(events, codes, kind == EventKind.INSTANT)
        if self._read_memory is not None:
            self._add_preceding(kind)
        self._flows(events, codes, kind)
        self._counters(events, codes, kind == EventKind.COUNTER)
        self._declared(events, kind == EventKind.META)
        self.batch.strings = list(self.strings)
        self.batch.tracks = list(self.tracks)

    def _classify_groups(self) -> None:
        """Kind, category and phase of each distinct (phase, category, pid, tid)."""
        parts = self.group_parts
        self.group_kind = np.array([event_kind(ph, cat) for ph, cat, _, _ in parts], np.int8)
        self.group_category = np.array(
            [category_of(cat if isinstance(cat, str) else None) for _, cat, _, _ in parts], np.int8
        )
        is_slice = self.group_kind >= FIRST_SLICE_KIND
        self.group_phase = np.array(
            [
                PHASES.index(part[0]) if yes else 0
                for part, yes in zip(parts, is_slice, strict=True)
            ],
            np.int8,
        )
        self.group_track = np.full(len(parts), -1, np.int32)
        self.group_category_code = np.full(len(parts), -1, np.int32)

    def _track_codes(self, codes: Int32) -> tuple[Int32, Int32]:
        """Track and category code of each event; unused groups get no track."""
        for group in np.flatnonzero(np.bincount(codes, minlength=len(self.group_parts))):
            _, cat, pid, tid = self.group_parts[group]
            self.group_track[group] = self.tracks[text_of(pid), text_of(tid)]
            self.group_category_code[group] = text_codes([cat], self.strings)[0]
        return self.group_track[codes], self.group_category_code[codes]

    def _times(self, events: DecodedEvents, field: str) -> Int64:
        times = events.times(field)
        self.batch.has_fraction |= times.has_fraction
        self.batch.quality.add("string_time", times.strings)
        return times.ns

    def _timed(
        self, events: DecodedEvents, codes: Int32, chosen: Mask
    ) -> tuple[DecodedEvents, Int32, Int64]:
        """The chosen events with a usable time, their groups and times (ns)."""
        rows, codes = events.select(chosen), codes[chosen]
        ns = self._times(rows, "ts")
        usable = (ns > -USABLE_NS) & (ns < USABLE_NS)  # the absolute value of ABSENT is negative
        if not usable.all():
            self.batch.quality.add("event_without_time", int((~usable).sum()))
            return rows.select(usable), codes[usable], ns[usable]
        return rows, codes, ns

    def _names(self, events: DecodedEvents) -> Int32:
        codes = events.text_codes("name", self.strings, absent=UNNAMED)
        unnamed = self.strings.get(UNNAMED)
        if unnamed is not None:
            nameless = events.select(codes == unnamed)
            pairs = zip(nameless.values("name"), nameless.values("ph"), strict=True)
            missing = sum(name in (None, "") and phase != "E" for name, phase in pairs)
            self.batch.quality.add("missing_name", missing)
        return codes

    def _slices(self, events: DecodedEvents, codes: Int32, kind: npt.NDArray[np.int8]) -> None:
        rows, codes, start = self._timed(events, codes, kind >= FIRST_SLICE_KIND)
        if not len(rows):
            return
        quality = self.batch.quality
        track, category_code = self._track_codes(codes)
        slices: ColumnArrays = {
            "category": self.group_category[codes],
            "raw_category_code": category_code,
            "name_code": self._names(rows),
            "track": track,
            "start_ns": start,
            "dur_ns": self._durations(rows, self.group_phase[codes] == 0),
            "correlation": np.full(len(rows), ABSENT, np.int64),
            "external_id": np.full(len(rows), ABSENT, np.int64),
            "phase": self.group_phase[codes],
        }
        kinds = self.group_kind[codes]
        for slice_kind in SLICE_KINDS:
            is_kind = kinds == slice_kind
            at = np.flatnonzero(is_kind)
            if not at.size:
                continue
            chosen = rows.select(is_kind)
            if self._read_slices is not None:
                raws = chosen.raw_arguments()
                arguments = self._read_slices(slice_kind, raws, at, self.strings, quality)
                slices["correlation"][at] = arguments.correlation
                for name, table in arguments.tables.items():
                    self._add(name, table)
                continue
            args = chosen.arguments(slice_kind, quality)
            slices["correlation"][at], slices["external_id"][at] = tables.links(args, quality)
            self._details(slice_kind, args, at)
            if slice_kind == EventKind.DEVICE_SLICE:
                self._named_arguments(args, at, category_code[at])
        for part in self.batch.tables.get("python", []):
            modules = part["slice"][part["module_id"] != ABSENT]
            slices["category"][modules] = Category.MODULE
        self._add("slices", slices)
        if self._requested.names:
            raws = rows.raw_arguments()
            for table in requested_tables(self._requested, raws, self.strings, quality):
                self._add("arguments", table)

    def _durations(self, rows: DecodedEvents, is_complete: Mask) -> Int64:
        dur = np.full(len(rows), ABSENT, np.int64)
        dur[is_complete] = self._times(rows.select(is_complete), "dur")
        return dur

    def _details(self, kind: EventKind, args: DecodedArguments, at: Int64) -> None:
        quality, strings = self.batch.quality, self.strings
        if kind in (EventKind.HOST_SLICE, EventKind.OTHER_SLICE):
            self._add("operator", tables.operator_table(args, at, strings, quality))
        if kind in (EventKind.PYTHON_SLICE, EventKind.OTHER_SLICE):
            self._add("python", tables.python_table(args, at, quality))
        if kind in (EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE):
            self._add("device", tables.device_table(args, at, strings, quality))
        if kind == EventKind.OTHER_SLICE:
            self._add(TASKS, tables.task_table(args, at, strings))
        if kind in (EventKind.HOST_SLICE, EventKind.DEVICE_SLICE, EventKind.OTHER_SLICE):
            self._add("collective", tables.collective_table(args, at, strings, quality))
            self._add("stated", stated_table(args, at, strings, quality))

    def _named_arguments(self, args: DecodedArguments, at: Int64, raw_category: Int32) -> None:
        given = args, at, raw_category, self.strings, self.batch.quality
        named = (
            *copy_arguments(args, at, self.strings),
            *node_arguments(*given),
            *range_arguments(*given),
        )
        requested = [self.strings[name] for name in self._requested.names]
        for table in named:
            if int(table["key_code"][0]) not in requested:
                self._add("arguments", table)

    def _add(self, name: str, table: ColumnArrays | None) -> None:
        if table is not None and next(iter(table.values())).size:
            self.batch.tables.setdefault(name, []).append(table)

    def _instants(self, events: DecodedEvents, codes: Int32, chosen: Mask) -> None:
        if not chosen.any():
            return
        rows, codes, time = self._timed(events, codes, chosen)
        track, _ = self._track_codes(codes)
        name = self._names(rows)
        memory_codes = [self.strings[text] for text in MEMORY_NAMES]
        is_memory = np.isin(name, memory_codes)
        memory_events = rows.select(is_memory)
        quality = self.batch.quality
        if self._read_memory is None:
            memory = tables.memory_table(
                memory_events.arguments(EventKind.INSTANT, quality), quality
            )
        else:
            raws, raw_categories = memory_events.raw_arguments(), memory_events.values("cat")
            memory = self._read_memory(raws, raw_categories, quality)
        memory["track"] = track[is_memory]
        memory["time_ns"] = time[is_memory]
        memory["is_oom"] = (name[is_memory] == memory_codes[1]).astype(np.int8)
        self._add("memory", memory)
        other = ~is_memory
        self._add(
            "instants",
            {"track": track[other], "name_code": name[other], "time_ns": time[other]},
        )

    def _add_preceding(self, kind: npt.NDArray[np.int8]) -> None:
        """Add the slice that precedes each memory event; unknown if events were dropped."""
        memory = sum(len(part["time_ns"]) for part in self.batch.tables.get("memory", []))
        slices = sum(len(part["start_ns"]) for part in self.batch.tables.get("slices", []))
        is_slice, is_memory = kind >= FIRST_SLICE_KIND, kind == EventKind.INSTANT
        preceding = np.full(memory, NO_ROW, np.int64)
        if (is_slice.sum(), is_memory.sum()) == (slices, memory):
            preceding = np.cumsum(is_slice)[is_memory] - 1
        self._add(PRECEDING, {"slice": preceding})

    def _flows(self, events: DecodedEvents, codes: Int32, kind: npt.NDArray[np.int8]) -> None:
        chosen = (kind == EventKind.FLOW_START) | (kind == EventKind.FLOW_END)
        if not chosen.any():
            return
        rows, codes, time = self._timed(events, codes, chosen)
        track, category_code = self._track_codes(codes)
        flows: ColumnArrays = {
            "raw_category_code": category_code,
            "flow_id_code": rows.text_codes("id", self.strings),
            "is_start": (self.group_kind[codes] == EventKind.FLOW_START).astype(np.int8),
            "track": track,
            "time_ns": time,
        }
        self._add("flows", flows)

    def _counters(self, events: DecodedEvents, codes: Int32, chosen: Mask) -> None:
        if not chosen.any():
            return
        rows, codes, time = self._timed(events, codes, chosen)
        track, _ = self._track_codes(codes)
        name = self._names(rows)
        series = decode_args(structs.COUNTER_ARGS, rows.raw_arguments(), self.batch.quality)
        owner = np.array([row for row, values in enumerate(series) for _ in values], np.int64)
        keys = [key for values in series for key in values]
        values = [value for event in series for value in event.values()]
        counters: ColumnArrays = {
            "track": track[owner],
            "name_code": name[owner],
            "series_code": np.array([self.strings[key] for key in keys], np.int32),
            "time_ns": time[owner],
            "value": float_column(values, self.batch.quality, "counter"),
        }
        self._add("counters", counters)

    def _declared(self, events: DecodedEvents, chosen: Mask) -> None:
        if not chosen.any():
            return
        rows = events.select(chosen)
        args = decode_args(structs.TRACK_ARGS, rows.raw_arguments(), self.batch.quality)
        keys = zip(
            *(map(text_of, rows.values(field)) for field in ("name", "pid", "tid")), strict=True
        )
        for key, arg in zip(keys, args, strict=True):
            given = (arg.name, arg.labels, arg.sort_index)
            self.batch.declared[key] = next((v for v in given if v is not None), None)
