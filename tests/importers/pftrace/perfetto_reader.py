"""A second reader of Perfetto traces, by Perfetto's own protobuf classes, one packet at a time.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

CLEARED = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
BEGIN, END = protos.TrackEvent.TYPE_SLICE_BEGIN, protos.TrackEvent.TYPE_SLICE_END


class Slice(NamedTuple):
    """A slice, with the name of its row."""

    row: str
    name: str
    category: str
    start_ns: int
    dur_ns: int


@dataclass
class _Sequence:
    """The incremental state of a packet sequence: interned texts by field and iid, defaults."""

    texts: dict[tuple[str, int], str] = field(default_factory=dict)
    defaults: protos.TracePacketDefaults = field(default_factory=protos.TracePacketDefaults)

    def intern(self, data: protos.InternedData) -> None:
        for kind, entries in data.ListFields():
            if kind.name in ("event_categories", "event_names", "gpu_specifications"):
                self.texts |= {(kind.name, entry.iid): entry.name for entry in entries}


class _Mark(NamedTuple):
    """A begin or an end."""

    time_ns: int
    packet: int
    is_begin: bool
    track: int
    name: str
    category: str


def parse(path: Path) -> protos.Trace:
    """A file, plain or gzip."""
    data = path.read_bytes()
    return parse_bytes(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def parse_bytes(data: bytes) -> protos.Trace:
    """The bytes of a file."""
    trace = protos.Trace()
    trace.ParseFromString(data)
    return trace


def read_slices(trace: protos.Trace) -> list[Slice]:
    """All slices that have an end: each track is a stack of its own, in order of time."""
    sequences: dict[int, _Sequence] = defaultdict(_Sequence)
    row_names: dict[int, str] = {}
    marks: list[_Mark] = []
    slices: list[Slice] = []
    for index, packet in enumerate(trace.packet):
        if packet.sequence_flags & CLEARED:
            sequences[packet.trusted_packet_sequence_id] = _Sequence()
        sequence = sequences[packet.trusted_packet_sequence_id]
        sequence.intern(packet.interned_data)
        if packet.HasField("trace_packet_defaults"):
            sequence.defaults = packet.trace_packet_defaults
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            row_names[descriptor.uuid] = descriptor.thread.thread_name or descriptor.name
        elif packet.HasField("gpu_render_stage_event"):
            slices.append(_stage(packet, sequence))
        elif packet.track_event.type in (BEGIN, END):
            marks.append(_mark(packet, index, sequence))
    return slices + _pair(marks, row_names)


def _stage(packet: protos.TracePacket, sequence: _Sequence) -> Slice:
    event = packet.gpu_render_stage_event
    queue = sequence.texts["gpu_specifications", event.hw_queue_iid]
    stage = sequence.texts["gpu_specifications", event.stage_iid]
    name = sequence.texts.get(("event_names", event.name_iid), stage)
    row = queue.split("] ")[-1]
    return Slice(row, name, stage.lower(), packet.timestamp, event.duration)


def _mark(packet: protos.TracePacket, index: int, sequence: _Sequence) -> _Mark:
    event = packet.track_event
    track = event.track_uuid or sequence.defaults.track_event_defaults.track_uuid
    name = event.name or sequence.texts.get(("event_names", event.name_iid), "")
    iids = event.category_iids
    categories = [*event.categories, *(sequence.texts["event_categories", iid] for iid in iids), ""]
    return _Mark(packet.timestamp, index, event.type == BEGIN, track, name, categories[0])


def _pair(marks: list[_Mark], row_names: dict[int, str]) -> list[Slice]:
    slices = []
    stacks: dict[int, list[_Mark]] = defaultdict(list)
    for mark in sorted(marks):
        stack = stacks[mark.track]
        if mark.is_begin:
            stack.append(mark)
        elif stack:
            begin = stack.pop()
            row, dur_ns = row_names.get(mark.track, ""), mark.time_ns - begin.time_ns
            slices.append(Slice(row, begin.name, begin.category, begin.time_ns, dur_ns))
    return slices
