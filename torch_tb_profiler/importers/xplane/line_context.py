"""One line of a profile while its events are read: what it holds, and its row."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from torch_tb_profiler.importers.xplane.device_rows import LineWork
from torch_tb_profiler.importers.xplane.host_rows import metadata_categories
from torch_tb_profiler.importers.xplane.lines import (
    LineKind,
    PlaneDevice,
    device_of,
    has_streams,
    kind_of,
    stream_of,
)
from torch_tb_profiler.importers.xplane.metadata import PlaneMetadata, plane_metadata
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.space import PlaneContent, PlaneLine
from torch_tb_profiler.trace.columns import Int8, Int32, Int64, Track

HOST = "host"
"""Process of the host's tracks where the profile does not name it."""

PROCESS_ID = "process_id"


class LineContext(Struct):
    """A line.

    Attributes:
        plane: Its plane.
        metadata: The metadata of its plane.
        host_categories: Category by the name of each metadata, on planes of the host.
        line: The line.
        kind: What it holds.
        device: The device of its plane; None on the host.
        track: Its track.
        work: The work of a device so far.
        spans: Start, end and code of the name of steps and runs of programs so far.
    """

    plane: PlaneContent
    metadata: PlaneMetadata
    host_categories: Int8
    line: PlaneLine
    kind: LineKind
    device: PlaneDevice | None
    track: int
    work: list[LineWork] = field(default_factory=list)
    spans: list[tuple[Int64, Int64, Int32]] = field(default_factory=list)

    @property
    def stream(self) -> int:
        """The stream of its work."""
        assert self.device is not None
        return stream_of(self.line, self.device)


class _Layout(Struct, frozen=True):
    """What all lines of a plane share."""

    metadata: PlaneMetadata
    host_categories: Int8
    device: PlaneDevice | None
    has_streams: bool
    line_ids: Counter[int]


def _layout(plane: PlaneContent, rows: TraceRows) -> _Layout:
    metadata = plane_metadata(plane.events, rows)
    return _Layout(
        metadata,
        metadata_categories(metadata),
        device_of(plane),
        has_streams(plane),
        Counter(line.id for line in plane.lines),
    )


class Contexts:
    """The contexts of all lines, each made when its first events come.

    Attributes:
        process: The process of the host's tracks.
        lines: (plane, line) → its context, in order of their first events.
    """

    def __init__(self, planes: list[PlaneContent], rows: TraceRows) -> None:
        self._planes = planes
        self._rows = rows
        self._layouts: dict[int, _Layout] = {}
        self._tracks: dict[tuple[str, str], int] = {}
        self.process = next(filter(None, map(_process_of, planes)), HOST)
        self.lines: dict[tuple[int, int], LineContext] = {}

    def of_line(self, plane_index: int, line_index: int) -> LineContext:
        """The context of a line."""
        key = plane_index, line_index
        if key not in self.lines:
            self.lines[key] = self._create(*key)
        return self.lines[key]

    def _create(self, plane_index: int, line_index: int) -> LineContext:
        plane = self._planes[plane_index]
        line = plane.lines[line_index]
        if plane_index not in self._layouts:
            self._layouts[plane_index] = _layout(plane, self._rows)
        layout = self._layouts[plane_index]
        return LineContext(
            plane,
            layout.metadata,
            layout.host_categories,
            line,
            kind_of(line, layout.device, with_streams=layout.has_streams),
            layout.device,
            self._track(plane, line, layout),
        )

    def _track(self, plane: PlaneContent, line: PlaneLine, layout: _Layout) -> int:
        """The track of a line; lines of one thread in several planes of the host share one."""
        process, thread = self.process, str(line.id)
        label, device = None, layout.device
        if device is not None:
            process, label = plane.name, f"{device.type} {device.number}"
            if layout.line_ids[line.id] > 1:
                thread = f"{line.id} {line.name}"
        key = process, thread
        if key not in self._tracks:
            track = Track(
                process,
                thread,
                process_name=plane.name,
                process_label=label,
                thread_name=line.name or None,
            )
            self._tracks[key] = self._rows.add_track(track)
        return self._tracks[key]


def _process_of(plane: PlaneContent) -> str | None:
    value = plane.stats.scalar(PROCESS_ID)
    return str(value) if isinstance(value, int) and device_of(plane) is None else None
