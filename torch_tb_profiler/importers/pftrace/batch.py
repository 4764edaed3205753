"""The columns of one piece; references that only earlier pieces resolve stay unresolved."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct, field

from torch_tb_profiler.trace.columns import ABSENT, Bools, ColumnArrays, Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

DEFERRED = ABSENT + 1
"""A default that an earlier piece defines."""


class InternedRef(NamedTuple):
    """A reference to an interned text of an earlier piece.

    Attributes:
        sequence: The packet sequence; each has its own interned texts.
        kind: A field of :class:`~torch_tb_profiler.importers.pftrace.fields.InternedData`.
        iid: Its interning id.
    """

    sequence: int
    kind: int
    iid: int


AnyText = str | InternedRef


class TrackKey(NamedTuple):
    """What identifies a row of the trace.

    Attributes:
        kind: ``"track"`` (by its uuid), ``"default"`` (the default track of a sequence at the start
            of the piece), ``"sequence"`` (one without a track), ``"queue"`` or ``"counters"`` of a
            GPU.
        number: The uuid, the sequence or, for a queue, the GPU.
        text: The name of a queue, or the GPU of counters; in a batch as a code.
    """

    kind: str
    number: int
    text: Any = None


class Argument(Struct, frozen=True):
    """One argument of some slices.

    Attributes:
        rows: The slices.
        ints: Its values, if all are integers.
        codes: Otherwise, per row the index of its value in ``values``.
        values: The distinct values: JSON values or :class:`InternedRef`.
    """

    rows: Int64
    ints: Int64 | None = None
    codes: Int32 | None = None
    values: list[Any] = field(default_factory=list)


class SequenceState(Struct):
    """Changes of the state of a packet sequence in a piece, for later pieces.

    Attributes:
        is_new: Whether the state before the piece is discarded.
        is_valid: Whether interned texts are complete after the piece; None if unchanged.
        texts: (kind, iid) → text, as of the end of the piece.
        clock: The default clock at the end; None if unchanged.
        track: The default track at the end; None if unchanged.
        resets: How often the piece resets it.
    """

    is_new: bool = False
    is_valid: bool | None = None
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    clock: int | None = None
    track: int | None = None
    resets: int = 0


class ClockReading(NamedTuple):
    """A reading of one clock in a clock snapshot.

    Attributes:
        sequence: The sequence that the clock belongs to; -1 for a global clock.
        clock: Its id.
        value: Its timestamp.
        is_incremental: Whether its timestamps are relative to the previous one.
        unit_ns: Nanoseconds per unit of its timestamps.
    """

    sequence: int
    clock: int
    value: int
    is_incremental: bool
    unit_ns: int


class ClockSnapshot(NamedTuple):
    """Readings of several clocks at one moment.

    Attributes:
        packet: Its packet.
        primary: The clock that it names as the trace's clock; 0 for none.
        readings: The clocks.
    """

    packet: int
    primary: int
    readings: list[ClockReading]


class PacketBatch(Struct):
    """Columns of one piece. Codes, tracks, packets and slice rows are numbered within it.

    Attributes:
        packets: Number of packets.
        sequence: Per packet the index of its sequence in ``sequences``.
        timestamp: Per packet its timestamp as written.
        clock: Per packet the clock of its timestamp; -1 for the default of the sequence at the
            start of the piece.
        is_pending: Per packet, whether it needs interned texts that only earlier pieces can
            complete.
        sequences: The ids of the sequences.
        states: Sequence id → changes of its state.
        snapshots: Clock snapshots, in order of packets.
        tables: ``slices``, ``ends``, ``instants``, ``counters``, ``flows``, ``submissions``.
        texts: The texts that ``*_code`` columns refer to.
        tracks: The tracks that ``track`` columns refer to.
        arguments: Pairs of the code of a name and the argument.
        descriptors: Track descriptors.
        quality: Problems in the piece.
    """

    packets: int
    sequence: Int32
    timestamp: Int64
    clock: Int64
    is_pending: Bools
    sequences: list[int]
    states: dict[int, SequenceState] = field(default_factory=dict)
    snapshots: list[ClockSnapshot] = field(default_factory=list)
    tables: dict[str, ColumnArrays] = field(default_factory=dict)
    texts: list[AnyText] = field(default_factory=list)
    tracks: list[TrackKey] = field(default_factory=list)
    arguments: list[tuple[int, Argument]] = field(default_factory=list)
    descriptors: list[Any] = field(default_factory=list)
    quality: QualityReport = field(default_factory=QualityReport)
