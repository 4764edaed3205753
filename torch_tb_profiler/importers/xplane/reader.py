"""Reads a profile: its structure at once, its events in pieces."""

from __future__ import annotations

from contextlib import closing

from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.protocol import Reading
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.xplane import AS_TEXT, AS_TEXT_MESSAGE, is_saved_as_text
from torch_tb_profiler.importers.xplane.assemble import Assembly
from torch_tb_profiler.importers.xplane.events import pieces, read_piece
from torch_tb_profiler.importers.xplane.space import SpaceReader
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.quality import QualityReport


def read(source: AnySource, reading: Reading) -> EventColumns:
    """Read an XPlane profile.

    Raises:
        TraceFormatError: it has no planes with events.
        StorageError, OSError: it cannot be read.
    """
    assert isinstance(source, Source), "an XPlane profile is a file"
    if is_saved_as_text(source.head):
        raise TraceFormatError(
            AS_TEXT,
            f"{source.name} {AS_TEXT_MESSAGE}",
            "Copy or download it again, as binary.",
        )
    with closing(source.unpacked()) as unpacked:
        data = b"".join(unpacked)
    quality = QualityReport()
    planes = SpaceReader(data, quality, reading.is_over_time).planes()
    reading.progress(source.taken_bytes)
    if not any(plane.lines for plane in planes):
        raise _no_events(source.name, has_planes=any(plane.name for plane in planes))
    assembly = Assembly(planes, quality, python_frames=reading.options.python_frames)
    for _, batch in reading.read_pieces(pieces(data, planes, assembly.is_read), read_piece):
        assembly.add(batch)
        if reading.is_full(assembly.event_count) or reading.is_over_time():
            break
    return assembly.columns()


def _no_events(name: str, *, has_planes: bool) -> TraceFormatError:
    if has_planes:
        return TraceFormatError(
            "no_events",
            f"{name} is an XPlane profile without events.",
            "Nothing ran while it was recorded: profile steps of the program, not its start.",
        )
    return TraceFormatError(
        "not_a_trace",
        f"{name} is named like an XPlane profile, but has no planes.",
        "It is damaged, or another program's file: profile again, and copy it as binary.",
    )
