"""Track descriptors: what a row is called, and of which process and thread it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.pftrace.fields import TracePacket, TrackDescriptor
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64


class Descriptor(NamedTuple):
    """One track. Numbers are None where they are not given.

    Attributes:
        uuid: Its identity.
        parent: The uuid of the track it belongs to.
        pid: Of the process, or of the thread's.
        tid: Of the thread.
        name: Its own name.
        process_name: Of the process.
        thread_name: Of the thread.
        is_thread: Whether it is one.
        counter_factor: Of the values of a counter.
        is_incremental: Whether a counter's values are what it grew by.
    """

    uuid: int
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    name: str | None = None
    process_name: str | None = None
    thread_name: str | None = None
    is_thread: bool = False
    counter_factor: int = 1
    is_incremental: bool = False


def read_descriptors(wire: Wire, packets: Fields, texts: PieceTexts) -> list[Descriptor]:
    """The descriptors of a piece, in order. Command lines are not read."""
    picked = packets.pick(TracePacket.TRACK, DELIMITED)
    fields = wire.fields(picked.start, picked.end)
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
    own = _names(wire, fields, *TrackDescriptor.NAMES)
    of_process = _names(wire, process, TrackDescriptor.PROCESS_NAME)
    of_thread = _names(wire, thread, TrackDescriptor.THREAD_NAME)
    is_thread = (fields.ints(TrackDescriptor.THREAD, DELIMITED) != ABSENT).tolist()
    factor = counter.ints(TrackDescriptor.COUNTER_FACTOR, default=1).tolist()
    grows = (counter.ints(TrackDescriptor.COUNTER_IS_INCREMENTAL, default=0) != 0).tolist()
    rows = zip(*columns, own, of_process, of_thread, is_thread, factor, grows, strict=True)
    return [Descriptor(*row) for row in rows]


def _inner(wire: Wire, fields: Fields, number: int) -> Fields:
    """The fields of one inner message per message, of none where there is none."""
    start, end = fields.spans(number)
    return wire.fields(np.where(start == ABSENT, 0, start), np.where(start == ABSENT, 0, end))


def _numbers(column: Int64) -> list[int | None]:
    return [None if value == ABSENT else value for value in column.tolist()]


def _names(wire: Wire, fields: Fields, *numbers: int) -> list[str | None]:
    """The first of these texts that each message has."""
    names: list[str | None] = [None] * fields.count
    for number in reversed(numbers):
        codes, texts = distinct_texts(wire, *fields.spans(number))
        for row, code in enumerate(codes.tolist()):
            if code >= 0:
                names[row] = texts[code]
    return names
