"""The events of lines, decoded in pieces: each can be read in any process, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Wire
from torch_tb_profiler.importers.xplane.fields import EventField
from torch_tb_profiler.importers.xplane.space import PlaneContent
from torch_tb_profiler.importers.xplane.stats import StatRows, read_stats
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64


class LinePiece(Struct, frozen=True):
    """Some events of one line.

    Attributes:
        plane: Index of the plane.
        line: Index of the line in it.
        data: Whole fields ``XLine.events``.
        starts: Start of each event.
        ends: End of each event.
        keys: Ids of the values that are read.
    """

    plane: int
    line: int
    data: bytes
    starts: Int64
    ends: Int64
    keys: Int64


class LineBatch(Struct, frozen=True):
    """The columns of a piece.

    Attributes:
        plane: As in :class:`LinePiece`.
        line: Likewise.
        metadata: Id of the metadata of each event.
        offset_ps: Start, from the time of the line.
        duration_ps: Duration.
        is_sum: Which are a number of occurrences, without times.
        stats: Values of the events.
        broken: How many messages are damaged.
    """

    plane: int
    line: int
    metadata: Int64
    offset_ps: Int64
    duration_ps: Int64
    is_sum: Bools
    stats: StatRows
    broken: int


def pieces(
    data: bytes, planes: list[PlaneContent], is_read: Callable[[str], bool]
) -> Iterator[LinePiece]:
    """The events of all lines.

    Args:
        data: The file.
        planes: Its planes.
        is_read: Whether values of a name are read.
    """
    for plane_index, plane in enumerate(planes):
        ids = [key for key, name in plane.stat_names.items() if is_read(name)]
        keys = np.array(ids, np.int64)
        for line_index, line in enumerate(plane.lines):
            for run in line.runs:
                part = data[run.start : run.end]
                yield LinePiece(plane_index, line_index, part, run.starts, run.ends, keys)


def read_piece(piece: LinePiece) -> LineBatch:
    """Decode the events of a piece. Pure: can run in any process."""
    wire = Wire(piece.data)
    fields = wire.fields(piece.starts, piece.ends)
    stats, broken = read_stats(wire, fields.pick(EventField.STATS, DELIMITED))
    occurrences = fields.ints(EventField.OCCURRENCES)
    offset = fields.ints(EventField.OFFSET_PS)
    is_sum = (occurrences != ABSENT) & (offset == ABSENT)
    return LineBatch(
        piece.plane,
        piece.line,
        fields.ints(EventField.METADATA, default=0),
        np.where(offset == ABSENT, 0, offset),
        fields.ints(EventField.DURATION_PS, default=0),
        is_sum,
        stats.select(np.isin(stats.key, piece.keys)),
        fields.broken + broken,
    )
