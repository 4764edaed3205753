"""The structure of a file: planes, their lines, and the metadata of events and of their values.

Messages that reach beyond what contains them are cut there: of a file that ends early only what
is missing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from torch_tb_profiler.importers.protobuf.messages import message_spans
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.varints import read_varint
from torch_tb_profiler.importers.protobuf.wire import (
    DELIMITED,
    Fields,
    Occurrences,
    Wire,
    read_field,
)
from torch_tb_profiler.importers.xplane.fields import (
    EntryField,
    LineField,
    MetadataField,
    PlaneField,
    SpaceField,
)
from torch_tb_profiler.importers.xplane.stats import NamedStats, StatRows, read_stats
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

Span = tuple[int, int]

ASK_EVERY = 1 << 12
"""Fields between two looks at the clock."""

MAX_NAME_BYTES = 1 << 16
PIECE_BYTES = 4 << 20
EVENT_TAG = LineField.EVENTS << 3 | DELIMITED


class FieldSpan(NamedTuple):
    """A field: its number, its value (of a delimited one its length), and where its content is."""

    number: int
    is_message: bool
    value: int
    start: int
    end: int


class EventRun(NamedTuple):
    """Consecutive events of a line.

    Attributes:
        start: Where the first begins in the file, with its tag.
        end: Where the last ends.
        starts: Start of each event, from ``start``.
        ends: End of each event, likewise.
    """

    start: int
    end: int
    starts: Int64
    ends: Int64


class EventNames(Struct, frozen=True):
    """The metadata of a plane's events.

    Attributes:
        ids: Their ids, ascending.
        name: Code of the name of each in ``texts``, -1 for none.
        display_name: Code of the short name of each, likewise.
        texts: The distinct names.
        stats: Values that all events of one metadata have.
    """

    ids: Int64
    name: Int32
    display_name: Int32
    texts: list[str]
    stats: NamedStats

    def rows_of(self, ids: Int64) -> Int64:
        """The row of each id, -1 for unknown ids."""
        if not self.ids.size:
            return np.full(ids.size, -1, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
        return np.where(self.ids[at] == ids, at, -1)


class PlaneLine(Struct):
    """A line.

    Attributes:
        id: Its id, of a thread or a stream.
        name: Its name.
        timestamp_ns: Time from which its events count.
        runs: Its events.
    """

    id: int = 0
    name: str = ""
    timestamp_ns: int = 0
    runs: list[EventRun] = field(default_factory=list)


class PlaneContent(Struct):
    """A plane.

    Attributes:
        name: Its name, ``"/device:TPU:0"``.
        lines: Its lines that have events.
        events: The metadata of its events.
        stat_names: Id → name of the values of events.
        stats: Values of the plane itself.
    """

    name: str
    lines: list[PlaneLine]
    events: EventNames
    stat_names: dict[int, str]
    stats: NamedStats


class SpaceReader:
    """Reads the structure of a file.

    Attributes:
        quality: Damage, and how many errors and warnings the recorder wrote.
    """

    def __init__(self, data: bytes, quality: QualityReport, is_over: Callable[[], bool]) -> None:
        """Read nothing yet; ``is_over`` says whether reading takes too long."""
        self._data = data
        self._is_over = is_over
        self.quality = quality

    def planes(self) -> list[PlaneContent]:
        """The planes, in file order."""
        planes = []
        for each in self._fields(0, len(self._data)):
            if each.number == SpaceField.PLANES and each.is_message:
                planes += [self._plane(each.start, each.end)] if each.end > each.start else []
            elif each.number == SpaceField.ERRORS and each.is_message:
                self.quality.add("xplane_errors")
            elif each.number == SpaceField.WARNINGS and each.is_message:
                self.quality.add("xplane_warnings")
        return planes

    def _fields(self, start: int, end: int) -> Iterator[FieldSpan]:
        """The fields between two offsets; one that reaches beyond is cut and ends them."""
        data, at, count = self._data, start, 0
        while at < end:
            count += 1
            if count % ASK_EVERY == 0 and self._is_over():
                return
            parsed = read_field(data, at, end)
            if parsed is not None:
                number, wire_type, value, first, at = parsed
                yield FieldSpan(number, wire_type == DELIMITED, value, first, at)
                continue
            self.quality.add("truncated" if end == len(data) else "message_damaged")
            tag, first = read_varint(data, at, end)
            length, content = read_varint(data, first, end) if first else (0, 0)
            if content and tag & 7 == DELIMITED and length > end - content:
                yield FieldSpan(tag >> 3, True, length, content, end)
            return

    def _plane(self, start: int, end: int) -> PlaneContent:
        name = ""
        lines: list[PlaneLine] = []
        spans: dict[int, list[Span]] = {
            number: []
            for number in (PlaneField.EVENT_METADATA, PlaneField.STAT_METADATA, PlaneField.STATS)
        }
        for each in self._fields(start, end):
            if each.number == PlaneField.NAME and each.is_message:
                name = self._text(each)
            elif each.number == PlaneField.LINES and each.is_message:
                line = self._line(each.start, each.end)
                lines += [line] if line.runs else []
            elif each.number in spans and each.is_message:
                spans[each.number].append((each.start, each.end))
        stat_names = self._stat_names(spans[PlaneField.STAT_METADATA])
        events = self._event_names(spans[PlaneField.EVENT_METADATA], stat_names)
        wire, starts, ends = self._joined(spans[PlaneField.STATS])
        owners = np.zeros(starts.size, np.int64)
        stats = self._stats(wire, Occurrences(owners, owners, starts, ends))
        return PlaneContent(name, lines, events, stat_names, NamedStats(stats, stat_names, 1))

    def _text(self, each: FieldSpan) -> str:
        end = min(each.end, each.start + MAX_NAME_BYTES)
        return self._data[each.start : end].decode("utf-8", "replace")

    def _line(self, start: int, end: int) -> PlaneLine:
        line = PlaneLine()
        data, at = self._data, start
        display_name = ""
        while at < end:
            if data[at] == EVENT_TAG:
                run, behind = self._run(at, end)
                line.runs += [] if run is None else [run]
                if behind > at:
                    at = behind
                    continue
            each = next(self._fields(at, end), None)
            if each is None:
                break
            at = each.end
            if each.is_message and each.number == LineField.NAME:
                line.name = self._text(each)
            elif each.is_message and each.number == LineField.DISPLAY_NAME:
                display_name = self._text(each)
            elif each.is_message and each.number == LineField.EVENTS:
                break  # an event that is cut: its times may be wrong
            elif each.number == LineField.ID:
                line.id = each.value
            elif each.number == LineField.TIMESTAMP_NS:
                line.timestamp_ns = each.value
        line.name = display_name or line.name
        return line

    def _run(self, start: int, end: int) -> tuple[EventRun | None, int]:
        """Some whole events from ``start`` on, about :data:`PIECE_BYTES` of them, and the end of
        the last; None where there is none."""
        size = PIECE_BYTES
        while not self._is_over():
            part = self._data[start : min(end, start + size)]
            starts, ends, behind = message_spans(part, EVENT_TAG)
            if behind or start + size >= end:
                run = EventRun(start, start + behind, np.array(starts), np.array(ends))
                return (run if starts else None), start + behind
            size *= 2  # an event that is longer than a piece
        return None, start

    def _joined(self, spans: list[Span]) -> tuple[Wire, Int64, Int64]:
        """The bytes of some messages as one buffer, and where each is in it."""
        data = self._data
        wire = Wire(b"".join([data[start:end] for start, end in spans]))
        bounds = np.array([0, *(end - start for start, end in spans)], np.int64).cumsum()
        return wire, bounds[:-1], bounds[1:]

    def _entries(self, spans: list[Span]) -> tuple[Wire, Int64, Fields]:
        """The entries of a map: keys, ascending, and the fields of their values; of several with
        one key the last counts, as protobuf defines it."""
        wire, starts, ends = self._joined(spans)
        entries = wire.fields(starts, ends)
        keys = entries.ints(EntryField.KEY, default=0)
        first, last = entries.spans(EntryField.VALUE)
        distinct, positions = np.unique(keys[::-1], return_index=True)
        rows = keys.size - 1 - positions
        has_value = first[rows] >= 0
        rows = rows[has_value]
        values = wire.fields(first[rows], last[rows])
        self.quality.add("message_damaged", entries.broken + values.broken)
        return wire, distinct[has_value], values

    def _stat_names(self, spans: list[Span]) -> dict[int, str]:
        wire, keys, values = self._entries(spans)
        codes, texts = distinct_texts(wire, *values.spans(MetadataField.NAME))
        return {
            key: texts[code] if code >= 0 else ""
            for key, code in zip(keys.tolist(), codes.tolist(), strict=True)
        }

    def _event_names(self, spans: list[Span], stat_names: dict[int, str]) -> EventNames:
        wire, keys, values = self._entries(spans)
        names = values.spans(MetadataField.NAME), values.spans(MetadataField.DISPLAY_NAME)
        starts, ends = (np.concatenate(each) for each in zip(*names, strict=True))
        codes, texts = distinct_texts(wire, starts, ends)
        stats = self._stats(wire, values.pick(MetadataField.STATS, DELIMITED))
        return EventNames(
            keys,
            codes[: keys.size],
            codes[keys.size :],
            texts,
            NamedStats(stats, stat_names, keys.size),
        )

    def _stats(self, wire: Wire, stats: Occurrences) -> StatRows:
        rows, broken = read_stats(wire, stats)
        self.quality.add("message_damaged", broken)
        return rows
