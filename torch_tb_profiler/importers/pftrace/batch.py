"""What one piece of a file holds, as columns; names that the piece does not explain stay open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

DEFERRED = ABSENT + 1
"""A default that pieces before say."""


class Ref(NamedTuple):
    """An interned text that an earlier piece holds, if any does.

    Attributes:
        sequence: Whose it is: writers intern apart.
        kind: Of :class:`~torch_tb_profiler.importers.pftrace.fields.InternedData`.
        iid: Its number.
    """

    sequence: int
    kind: int
    iid: int


AnyText = str | Ref


class TrackKey(NamedTuple):
    """What a row of the trace is known by.

    Attributes:
        kind: ``"track"`` (by its uuid), ``"default"`` (what the sequence says when the piece
            begins), ``"sequence"`` (which names none), ``"queue"`` or ``"counters"`` of a GPU.
        number: The uuid, the sequence or, of a queue, the GPU.
        text: Of a queue its name, of counters their GPU: in a batch as codes.
    """

    kind: str
    number: int
    text: Any = None


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of some slices.

    Attributes:
        rows: Slices of the piece.
        ints: Its values, where all are integers.
        codes: Else, per row, the place of its value in ``values``.
        values: The distinct values: what JSON has, or a :class:`Ref`.
    """

    rows: Int64
    ints: Int64 | None = None
    codes: Int32 | None = None
    values: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class SequenceState:
    """What a piece says of a sequence, for the pieces behind it.

    Attributes:
        is_new: Whether what was before is forgotten.
        is_valid: Whether interned texts are complete from its end on; None: as before.
        texts: (kind, iid) → text that holds at the end.
        clock: Default clock at the end; None: as before.
        track: Default track at the end, likewise.
    """

    is_new: bool = False
    is_valid: bool | None = None
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    clock: int | None = None
    track: int | None = None


@dataclass(slots=True)
class ClockReading:
    """What one clock of a snapshot showed.

    Attributes:
        packet: Of the piece, that holds the snapshot.
        sequence: The sequence whose clock it is; -1 for one of everybody.
        clock: Its number.
        value: Its time stamp.
        is_incremental: Whether its time stamps are the time since the last one.
        unit_ns: Of its time stamps.
    """

    packet: int
    sequence: int
    clock: int
    value: int
    is_incremental: bool
    unit_ns: int


@dataclass(slots=True)
class PacketBatch:
    """Columns of one piece. Codes, tracks, packets and slice rows count from its own zero.

    Attributes:
        packets: Number of packets.
        sequence: Per packet the place of its sequence in ``sequences``.
        timestamp: Per packet as it is written.
        clock: Per packet the clock of that; -1: the sequence's default when the piece begins.
        is_pending: Per packet: it needs interned texts, and whether they are complete is said by
            pieces before.
        sequences: The ids of the sequences.
        states: By sequence id.
        snapshots: The clocks that were read.
        tables: ``slices``, ``ends``, ``instants``, ``counters``, ``flows``, ``submissions``.
        texts: Behind the ``*_code`` columns.
        tracks: Behind the ``track`` columns.
        arguments: (code of the name, the argument).
        descriptors: What describes tracks.
        quality: What was odd.
    """

    packets: int
    sequence: Int32
    timestamp: Int64
    clock: Int64
    is_pending: Bools
    sequences: list[int]
    states: dict[int, SequenceState] = field(default_factory=dict)
    snapshots: list[ClockReading] = field(default_factory=list)
    tables: dict[str, ColumnArrays] = field(default_factory=dict)
    texts: list[AnyText] = field(default_factory=list)
    tracks: list[TrackKey] = field(default_factory=list)
    arguments: list[tuple[int, Argument]] = field(default_factory=list)
    descriptors: list[Any] = field(default_factory=list)
    quality: QualityReport = field(default_factory=QualityReport)
