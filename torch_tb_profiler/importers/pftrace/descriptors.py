"""Track descriptors: the name, process and thread of each track."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.pftrace.fields import TracePacket, TrackDescriptor
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.importers.pftrace.units import TRACK_UNITS
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64


class Descriptor(NamedTuple):
    """The descriptor of one track; absent values are None.

    Attributes:
        uuid: Its identity.
        parent: The uuid of its parent track.
        pid: The id of the process, or of the thread's process.
        tid: The id of the thread.
        name: The name of the track.
        process_name: The name of the process.
        thread_name: The name of the thread.
        is_thread: Whether the track is a thread.
        is_counter: Whether the track is a counter.
        counter_unit: The unit of its values; None for none.
        counter_factor: Factor of the values of a counter.
        is_incremental: Whether the values of a counter are increments.
    """

    uuid: int
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    name: str | None = None
    process_name: str | None = None
    thread_name: str | None = None
    is_thread: bool = False
    is_counter: bool = False
    counter_unit: str | None = None
    counter_factor: int = 1
    is_incremental: bool = False


def read_descriptors(wire: Wire, packets: Fields, texts: PieceTexts) -> list[Descriptor]:
    """Read the descriptors of a piece, in order; command lines are not read."""
    messages = packets.pick(TracePacket.TRACK, DELIMITED)
    fields = wire.fields(messages.start, messages.end)
    texts.quality.add("broken_message", fields.broken)
    process, thread = (
        _inner(wire, fields, TrackDescriptor.PROCESS),
        _inner(wire, fields, TrackDescriptor.THREAD),
    )
    counter = _inner(wire, fields, TrackDescriptor.COUNTER)
    pid = thread.ints(TrackDescriptor.PID)
    columns: list[list[int | None]] = [
        _numbers(column)
        for column in (
            fields.ints(TrackDescriptor.UUID, default=0),
            fields.ints(TrackDescriptor.PARENT),
            np.where(pid == ABSENT, process.ints(TrackDescriptor.PID), pid),
            thread.ints(TrackDescriptor.TID),
        )
    ]
    track_names = _names(wire, fields, *TrackDescriptor.NAMES)
    process_names = _names(wire, process, TrackDescriptor.PROCESS_NAME)
    thread_names = _names(wire, thread, TrackDescriptor.THREAD_NAME)
    is_thread = (fields.ints(TrackDescriptor.THREAD, DELIMITED) != ABSENT).tolist()
    is_counter = (fields.ints(TrackDescriptor.COUNTER, DELIMITED) != ABSENT).tolist()
    unit_names = _names(wire, counter, TrackDescriptor.COUNTER_UNIT_NAME)
    units = [
        name or TRACK_UNITS.get(unit)
        for name, unit in zip(
            unit_names, counter.ints(TrackDescriptor.COUNTER_UNIT).tolist(), strict=True
        )
    ]
    factor = counter.ints(TrackDescriptor.COUNTER_FACTOR, default=1).tolist()
    is_incremental = (counter.ints(TrackDescriptor.COUNTER_IS_INCREMENTAL, default=0) != 0).tolist()
    rows = zip(
        *columns,
        track_names,
        process_names,
        thread_names,
        is_thread,
        is_counter,
        units,
        factor,
        is_incremental,
        strict=True,
    )
    return [Descriptor(*row) for row in rows]


def _inner(wire: Wire, fields: Fields, number: int) -> Fields:
    """The fields of a nested message, per message; no fields if it is absent."""
    start, end = fields.spans(number)
    return wire.fields(np.where(start == ABSENT, 0, start), np.where(start == ABSENT, 0, end))


def _numbers(column: Int64) -> list[int | None]:
    return [None if value == ABSENT else value for value in column.tolist()]


def _names(wire: Wire, fields: Fields, *numbers: int) -> list[str | None]:
    """The first present one of several text fields, per message."""
    names: list[str | None] = [None] * fields.count
    for number in reversed(numbers):
        codes, texts = distinct_texts(wire, *fields.spans(number))
        for row, code in enumerate(codes.tolist()):
            if code >= 0:
                names[row] = texts[code]
    return names
