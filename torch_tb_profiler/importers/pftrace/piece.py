"""Decodes one piece of packets into a batch. Pure: may run in any process and order."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from torch_tb_profiler.importers.pftrace.batch import (
    DEFERRED,
    ClockReading,
    ClockSnapshot,
    PacketBatch,
    SequenceState,
)
from torch_tb_profiler.importers.pftrace.clocks import SEQUENCE_CLOCKS
from torch_tb_profiler.importers.pftrace.descriptors import read_descriptors
from torch_tb_profiler.importers.pftrace.events import read_events
from torch_tb_profiler.importers.pftrace.fields import (
    ClockSnapshotFields,
    TracePacket,
    TracePacketDefaults,
)
from torch_tb_profiler.importers.pftrace.gpu import read_counters, read_stages
from torch_tb_profiler.importers.pftrace.packets import PacketPiece
from torch_tb_profiler.importers.pftrace.scopes import Scopes
from torch_tb_profiler.importers.pftrace.tables import PieceTables
from torch_tb_profiler.importers.pftrace.texts import PieceTexts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.quality import QualityReport


def read_piece(piece: PacketPiece, requested: Container[str] = ()) -> PacketBatch:
    """Decode the packets of a piece, with the arguments that columns model and those requested."""
    wire = Wire(piece.data)
    packets = wire.fields(piece.starts, piece.ends)
    quality = QualityReport()
    quality.add("broken_message", packets.broken)
    scopes = Scopes(packets)
    texts = PieceTexts(wire, packets, scopes, quality, requested)
    batch = PacketBatch(
        packets=packets.count,
        sequence=scopes.sequence,
        timestamp=packets.ints(TracePacket.TIMESTAMP),
        clock=packets.ints(TracePacket.CLOCK, default=-1),
        is_pending=scopes.is_pending,
        sequences=scopes.ids,
        quality=quality,
    )
    if piece.is_truncated:
        quality.add("truncated")
    default_track = _apply_defaults(batch, wire, packets, scopes)
    _read_snapshots(batch, wire, packets)
    batch.descriptors = read_descriptors(wire, packets, texts)
    rows = PieceTables(texts, scopes, default_track)
    read_events(rows, packets)
    read_stages(rows, packets)
    read_counters(rows, packets)
    _read_states(batch, texts, scopes, packets)
    rows.fill(batch)
    return batch


def _apply_defaults(batch: PacketBatch, wire: Wire, packets: Fields, scopes: Scopes) -> Int64:
    """Set the clocks of packets that use a default of this piece; return the default tracks.

    Returns:
        Per packet the uuid of its default track: :data:`DEFERRED` if an earlier piece defines it,
        :data:`ABSENT` if there is none.
    """
    track = np.where(scopes.is_first[scopes.scope], DEFERRED, ABSENT)
    messages = packets.pick(TracePacket.DEFAULTS, DELIMITED)
    all_packets = np.arange(packets.count)
    no_default = (batch.clock < 0) & ~scopes.is_first[scopes.scope]
    batch.clock[no_default] = 0
    if not messages.message.size:
        return track
    fields = wire.fields(messages.start, messages.end)
    clock = fields.ints(TracePacketDefaults.CLOCK)
    events = fields.pick(TracePacketDefaults.TRACK_EVENT, DELIMITED)
    event_track = wire.fields(events.start, events.end).ints(TracePacketDefaults.TRACK_EVENT_TRACK)
    uuid = np.full(fields.count, ABSENT, np.int64)
    uuid[events.message] = event_track
    last = scopes.last_before(messages.message, all_packets)
    has_default = last >= 0
    has_clock = packets.ints(TracePacket.CLOCK) != ABSENT
    uses_default = has_default & ~has_clock
    default = clock[last[uses_default]]
    batch.clock[uses_default] = np.where(default == ABSENT, 0, default)
    track[has_default] = uuid[last[has_default]]
    return track


def _read_snapshots(batch: PacketBatch, wire: Wire, packets: Fields) -> None:
    messages = packets.pick(TracePacket.CLOCK_SNAPSHOT, DELIMITED)
    snapshots = wire.fields(messages.start, messages.end)
    primary = snapshots.ints(ClockSnapshotFields.PRIMARY, default=0)
    batch.snapshots = [
        ClockSnapshot(packet, clock, [])
        for packet, clock in zip(messages.message.tolist(), primary.tolist(), strict=True)
    ]
    clocks = snapshots.pick(ClockSnapshotFields.CLOCKS, DELIMITED)
    fields = wire.fields(clocks.start, clocks.end)
    columns = (
        clocks.message,
        fields.ints(ClockSnapshotFields.CLOCK_ID, default=0),
        fields.ints(ClockSnapshotFields.TIMESTAMP, default=0),
        fields.ints(ClockSnapshotFields.IS_INCREMENTAL, default=0),
        fields.ints(ClockSnapshotFields.UNIT_NS, default=1),
    )
    for index, clock, value, incremental, unit in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        snapshot = batch.snapshots[index]
        sequence = batch.sequences[batch.sequence[snapshot.packet]]
        owner = sequence if clock in SEQUENCE_CLOCKS else -1
        snapshot.readings.append(ClockReading(owner, clock, value, bool(incremental), unit))


def _read_states(batch: PacketBatch, texts: PieceTexts, scopes: Scopes, packets: Fields) -> None:
    """Record the state of each sequence at the end of the piece."""
    defaults = packets.pick(TracePacket.DEFAULTS, DELIMITED)
    fields = texts.wire.fields(defaults.start, defaults.end)
    events = fields.pick(TracePacketDefaults.TRACK_EVENT, DELIMITED)
    uuid = np.full(fields.count, ABSENT, np.int64)
    uuid[events.message] = texts.wire.fields(events.start, events.end).ints(
        TracePacketDefaults.TRACK_EVENT_TRACK
    )
    last_defaults = dict(
        zip(scopes.scope[defaults.message].tolist(), range(fields.count), strict=True)
    )
    clock = fields.ints(TracePacketDefaults.CLOCK, default=0)
    last = set(scopes.last)
    by_scope: dict[int, dict[tuple[int, int], str]] = {}
    for (scope, kind), entries in texts.entries.items():
        if scope in last:
            texts_of_scope = by_scope.setdefault(scope, {})
            texts_of_scope.update({(kind, iid): text for iid, text in entries.items()})
    resets = np.zeros(len(scopes.ids), np.int64)
    np.maximum.at(resets, scopes.sequence, scopes.resets)
    for index, scope in enumerate(scopes.last):
        state = SequenceState(is_new=not scopes.is_first[scope], texts=by_scope.get(scope, {}))
        if state.is_new:
            state.is_valid = bool(scopes.is_cleared[scope])
        if scope in last_defaults:
            row = last_defaults[scope]
            state.clock, state.track = int(clock[row]), int(uuid[row])
        state.resets = int(resets[index])
        batch.states[scopes.ids[index]] = state
