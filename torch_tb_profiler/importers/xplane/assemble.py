"""Events of all lines → event columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.xplane.details import detail_columns
from torch_tb_profiler.importers.xplane.device_rows import LineWork, categories, stated_texts
from torch_tb_profiler.importers.xplane.event_arguments import add_event_arguments, is_read
from torch_tb_profiler.importers.xplane.events import LineBatch
from torch_tb_profiler.importers.xplane.finish import add_device_operators, add_steps
from torch_tb_profiler.importers.xplane.host_rows import (
    CORRELATION,
    event_categories,
    raw_categories,
    step_names,
)
from torch_tb_profiler.importers.xplane.info import first_time_ns, trace_info
from torch_tb_profiler.importers.xplane.line_context import Contexts, LineContext
from torch_tb_profiler.importers.xplane.lines import STEPS, LineKind, device_of
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.space import PlaneContent
from torch_tb_profiler.importers.xplane.stats import NamedStats
from torch_tb_profiler.importers.xplane.times import slice_times
from torch_tb_profiler.trace.categories import DEVICE_WORK_CATEGORIES, Category
from torch_tb_profiler.trace.columns import (
    EPOCH_NS,
    Bools,
    ColumnArrays,
    EventColumns,
    Int8,
    Int32,
    Int64,
)
from torch_tb_profiler.trace.quality import QualityReport

PROGRAM = "hlo_module"
SECOND_NS = 10**9

_SPAN_KINDS = (LineKind.MODULES, LineKind.STEPS)


class LineEvents(Struct, frozen=True):
    """The events of a piece; arrays are aligned.

    Attributes:
        usable: Which are read, by index.
        metadata: Row of the metadata of each, -1 for none.
        name: Code of the name of each.
        start_ns: Start.
        dur_ns: Duration.
        stats: Their values.
    """

    usable: Int64
    metadata: Int64
    name: Int32
    start_ns: Int64
    dur_ns: Int64
    stats: NamedStats


class Assembly:
    """Collects the slices of all lines.

    Attributes:
        event_count: Number of events so far.
    """

    is_read = staticmethod(is_read)

    def __init__(
        self, planes: list[PlaneContent], quality: QualityReport, *, python_frames: bool
    ) -> None:
        """Start without events; ``python_frames`` says whether frames are read."""
        self.event_count = 0
        self._planes = planes
        self._quality = quality
        self._python_frames = python_frames
        self._rows = TraceRows()
        self._contexts = Contexts(planes, self._rows)
        self._has_device_steps = any(
            device_of(plane) is not None and line.name == STEPS
            for plane in planes
            for line in plane.lines
        )

    def add(self, batch: LineBatch) -> None:
        """Add the events of a piece."""
        context = self._contexts.of_line(batch.plane, batch.line)
        self._quality.add("message_damaged", batch.broken)
        self.event_count += batch.metadata.size
        start, dur, is_usable = slice_times(batch, context.line.timestamp_ns, self._quality)
        usable = np.flatnonzero(is_usable)
        stats = NamedStats(batch.stats, context.plane.stat_names, batch.metadata.size)
        metadata = context.metadata.names.rows_of(batch.metadata)
        self._quality.add("missing_name", int((metadata[usable] < 0).sum()))
        name = context.metadata.name_codes(
            metadata, batch.metadata, self._rows, short=context.kind == LineKind.OPERATIONS
        )
        events = LineEvents(usable, metadata, name, start, dur, stats)
        if context.device is None:
            rows = self._add_host(context, events)
        else:
            rows = self._add_device(context, events)
        add_event_arguments(stats, rows, self._rows)

    def _add_host(self, context: LineContext, events: LineEvents) -> Int64:
        """Add events of a thread; returns the row of each event, -1 for those left out."""
        category = event_categories(
            context.host_categories[events.metadata],
            events.stats,
            has_device_steps=self._has_device_steps,
        )
        is_frame = category == Category.PYTHON_FUNCTION
        if not self._python_frames:
            usable = events.usable[~is_frame[events.usable]]
            self._quality.add("python_frames_left_out", events.usable.size - usable.size)
            events = replace(events, usable=usable)
        is_step = category == Category.STEP
        name = step_names(events.name, is_step, events.stats, self._rows)
        events = replace(events, name=name)
        rows = self._add_slices(context, events, category, raw_categories(category, self._rows))
        self._rows.add("python", {"slice": rows[(rows >= 0) & is_frame]})
        return rows

    def _add_device(self, context: LineContext, events: LineEvents) -> Int64:
        """Add events of a device, likewise."""
        used = np.unique(events.name)
        every = list(self._rows.strings)
        texts = {code: every[code] for code in used.tolist()}
        category = categories(context.kind, events.name, texts, events.stats)
        if context.kind == LineKind.STREAM:
            self._count_unknown(events.name[events.usable], category[events.usable], texts)
        raw = context.metadata.category[events.metadata]
        if context.kind not in (LineKind.STREAM, LineKind.OPERATIONS):
            raw = np.full(raw.size, self._rows.strings[context.line.name], np.int32)
        rows = self._add_slices(context, events, category, raw)
        if context.kind in _SPAN_KINDS:
            start = events.start_ns[events.usable]
            end = start + events.dur_ns[events.usable]
            context.spans.append((start, end, events.name[events.usable]))
        is_work = np.isin(category, [int(each) for each in DEVICE_WORK_CATEGORIES])
        work = np.flatnonzero(is_work & (rows >= 0))
        if work.size:
            self._add_details(context, events, work, rows[work])
            context.work.append(self._work(context, events, work, rows[work]))
        return rows

    def _count_unknown(self, name: Int32, category: Int8, texts: dict[int, str]) -> None:
        unknown = name[category == Category.DEVICE_OTHER]
        for code, count in zip(*np.unique(unknown, return_counts=True), strict=True):
            self._quality.add("unknown_category", int(count), texts[int(code)])

    def _work(self, context: LineContext, events: LineEvents, work: Int64, rows: Int64) -> LineWork:
        """The work among events, with the operation and the path that it states."""
        operation, path = stated_texts(events.stats, self._rows)
        if context.kind == LineKind.OPERATIONS:
            operation = events.name
            of_operation = context.metadata.path[events.metadata]
            path = np.where(path >= 0, path, of_operation).astype(np.int32)
        program, names = events.stats.texts(PROGRAM)
        program = self._rows.codes(names)[program]
        category = context.metadata.category[events.metadata]
        start = events.start_ns[work]
        texts = (column[work] for column in (operation, path, program, category))
        return LineWork(rows, start, start + events.dur_ns[work], *texts)

    def _add_slices(
        self, context: LineContext, events: LineEvents, category: Int8, raw: Int32
    ) -> Int64:
        usable = events.usable
        given: ColumnArrays = {
            "category": category[usable],
            "raw_category_code": raw[usable],
            "name_code": events.name[usable],
            "track": np.full(usable.size, context.track, np.int32),
            "start_ns": events.start_ns[usable],
            "dur_ns": events.dur_ns[usable],
            "correlation": events.stats.integers(CORRELATION)[usable],
        }
        rows = np.full(category.size, -1, np.int64)
        rows[usable] = self._rows.add_slices(given)
        return rows

    def _add_details(
        self, context: LineContext, events: LineEvents, work: Int64, rows: Int64
    ) -> None:
        """Add the details of device work."""
        assert context.device is not None
        given: dict[str, Any] = {
            "slice": rows,
            "device": np.full(work.size, context.device.number, np.int64),
            "stream": np.full(work.size, context.stream, np.int64),
        }
        if context.kind == LineKind.STREAM:
            given |= detail_columns(events.stats, work, self._rows)
        self._rows.add("device", given)
        metadata, of_plane = events.metadata[work], context.metadata
        flops, size = of_plane.flops[metadata], of_plane.bytes[metadata]
        self._add_some("stated", ~(np.isnan(flops) & np.isnan(size)), rows, flops=flops, bytes=size)
        kind = of_plane.collective[metadata]
        self._add_some("collective", kind >= 0, rows, collective_code=kind)

    def _add_some(self, table: str, selected: Bools, rows: Int64, **columns: Any) -> None:
        given = {key: values[selected] for key, values in columns.items()}
        self._rows.add(table, {"slice": rows[selected], **given})

    def columns(self) -> EventColumns:
        """The event columns of everything that was added."""
        contexts = list(self._contexts.lines.values())
        process = self._contexts.process
        operators = add_device_operators(contexts, process, self._rows)
        add_steps(contexts, process, self._rows)
        self._quality.add("text_cut", self._rows.cut_count)
        tables = self._rows.tables()
        slices = tables["slices"]
        slices["category"][operators.loops] = Category.DEVICE_ANNOTATION
        base_ns = _rebase(slices, first_time_ns(self._planes))
        is_work = np.isin(slices["category"], [int(each) for each in DEVICE_WORK_CATEGORIES])
        return EventColumns(
            "xplane",
            tables,
            list(self._rows.strings),
            self._rows.tracks,
            base_ns,
            1,
            trace_info(self._planes, has_work=bool(is_work.any())),
            self._quality,
            owner=operators.owners(self._rows.slice_count),
        )


def _rebase(slices: ColumnArrays, first_ns: int) -> int:
    """Make times relative to a base; returns it in nanoseconds since 1970, 0 if it is unknown."""
    start = slices["start_ns"]
    if not start.size or int(start.min()) < EPOCH_NS:
        return first_ns
    base_ns = int(start.min()) // SECOND_NS * SECOND_NS
    start -= base_ns
    return base_ns
