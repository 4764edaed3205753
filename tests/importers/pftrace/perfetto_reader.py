"""A second reader of Perfetto traces, by Perfetto's own protobuf classes, one packet at a time.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import gzip
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

CLEARED = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
BOOT_TIME = 6
COUNTER = protos.TrackEvent.TYPE_COUNTER
BEGIN, END = protos.TrackEvent.TYPE_SLICE_BEGIN, protos.TrackEvent.TYPE_SLICE_END


class Slice(NamedTuple):
    """A slice, with the name of its row."""

    row: str
    name: str
    category: str
    start_ns: int
    dur_ns: int


Clock = tuple[int, int]
"""Sequence (0 for a global clock) and id."""


@dataclass
class _Clocks:
    """All snapshots of a file: nanoseconds of the clocks that each reads."""

    trace_clock: Clock = (0, BOOT_TIME)
    snapshots: list[dict[Clock, int]] = field(default_factory=list)
    _ways: dict[Clock, list[Clock] | None] = field(default_factory=dict)

    def to_trace_time(self, clock: Clock, value_ns: int) -> int | None:
        if clock not in self._ways:
            self._ways[clock] = self._way(clock)
        way = self._ways[clock]
        if way is None:
            return None
        for here, there in pairwise(way):
            both = [each for each in self.snapshots if here in each and there in each]
            pairs = sorted((each[here], each[there]) for each in both)
            last = bisect_right([pair[0] for pair in pairs], value_ns) - 1
            before, after = pairs[max(last, 0)]
            value_ns += after - before
        return value_ns

    def _way(self, clock: Clock) -> list[Clock] | None:
        """The clocks on the shortest way to the trace's clock."""
        ways = [[clock]]
        seen = {clock}
        for way in ways:
            if way[-1] == self.trace_clock:
                return way
            for snapshot in self.snapshots:
                following = snapshot.keys() - seen if way[-1] in snapshot else set()
                seen |= following
                ways += [[*way, each] for each in sorted(following)]
        return None


@dataclass
class _Sequence:
    """The state of a packet sequence: interned texts by field and iid, defaults, and per
    incremental clock its unit and value in nanoseconds."""

    texts: dict[tuple[str, int], str] = field(default_factory=dict)
    defaults: protos.TracePacketDefaults = field(default_factory=protos.TracePacketDefaults)
    units: dict[int, int] = field(default_factory=dict)
    values: dict[int, int] = field(default_factory=dict)

    def clear(self) -> None:
        self.texts, self.defaults = {}, protos.TracePacketDefaults()

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
    clocks = _read_clocks(trace)
    sequences: dict[int, _Sequence] = defaultdict(_Sequence)
    row_names: dict[int, str] = {}
    marks: list[_Mark] = []
    slices: list[Slice] = []
    for index, packet in enumerate(trace.packet):
        sequence = sequences[packet.trusted_packet_sequence_id]
        if packet.sequence_flags & CLEARED:
            sequence.clear()
        sequence.intern(packet.interned_data)
        if packet.HasField("trace_packet_defaults"):
            sequence.defaults = packet.trace_packet_defaults
        time_ns = _time_ns(packet, sequence, clocks)
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            name = descriptor.thread.thread_name or descriptor.name
            row_names[descriptor.uuid] = name or descriptor.static_name
        elif time_ns is None:
            continue
        elif packet.HasField("gpu_render_stage_event"):
            slices.append(_stage(packet, time_ns, sequence))
        elif packet.track_event.type in (BEGIN, END):
            marks.append(_mark(packet, (time_ns, index), sequence))
    return slices + _pair(marks, row_names)


def read_counters(trace: protos.Trace) -> Iterator[tuple[str, float]]:
    """Name and value of every value of a counter, of tracks and of GPUs."""
    descriptors: dict[tuple[int, int], protos.GpuCounterDescriptor] = {}
    names: dict[int, str] = {}
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        for each in packet.interned_data.gpu_counter_descriptors:
            descriptors[sequence, each.iid] = each.counter_descriptor
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
        event, gpu = packet.track_event, packet.gpu_counter_event
        if event.type == COUNTER:
            yield names[event.track_uuid], event.double_counter_value or event.counter_value
        if gpu.HasField("counter_descriptor"):
            descriptors[sequence, 0] = gpu.counter_descriptor
        for each in gpu.counters:
            specs = descriptors[sequence, gpu.counter_descriptor_iid].specs
            name = next(spec.name for spec in specs if spec.counter_id == each.counter_id)
            yield name, each.double_value or each.int_value


def _read_clocks(trace: protos.Trace) -> _Clocks:
    clocks = _Clocks()
    primary = 0
    for packet in trace.packet:
        if packet.HasField("clock_snapshot"):
            primary = primary or packet.clock_snapshot.primary_trace_clock
            readings = packet.clock_snapshot.clocks
            owner = packet.trusted_packet_sequence_id
            clocks.snapshots.append(
                {
                    _key(owner, each.clock_id): each.timestamp * (each.unit_multiplier_ns or 1)
                    for each in readings
                }
            )
    clocks.trace_clock = (0, primary or BOOT_TIME)
    return clocks


def _key(sequence: int, clock: int) -> Clock:
    return (sequence if 64 <= clock < 128 else 0, clock)


def _time_ns(packet: protos.TracePacket, sequence: _Sequence, clocks: _Clocks) -> int | None:
    """The time of a packet on the trace's clock; advances incremental clocks."""
    for each in packet.clock_snapshot.clocks:
        sequence.units[each.clock_id] = each.unit_multiplier_ns or 1
        if each.is_incremental:
            sequence.values[each.clock_id] = each.timestamp * sequence.units[each.clock_id]
    if not packet.HasField("timestamp"):
        return None
    clock = packet.timestamp_clock_id or sequence.defaults.timestamp_clock_id
    if clock == 0:
        return int(packet.timestamp)
    value_ns = packet.timestamp * sequence.units.get(clock, 1)
    if clock in sequence.values:
        sequence.values[clock] += value_ns
        value_ns = sequence.values[clock]
    return clocks.to_trace_time(_key(packet.trusted_packet_sequence_id, clock), value_ns)


def _stage(packet: protos.TracePacket, time_ns: int, sequence: _Sequence) -> Slice:
    event = packet.gpu_render_stage_event
    queue = sequence.texts["gpu_specifications", event.hw_queue_iid]
    stage = sequence.texts["gpu_specifications", event.stage_iid]
    name = sequence.texts.get(("event_names", event.name_iid), stage)
    row = queue.split("] ")[-1]
    return Slice(row, name, stage.lower(), time_ns, event.duration)


def _mark(packet: protos.TracePacket, place: tuple[int, int], sequence: _Sequence) -> _Mark:
    event = packet.track_event
    track = event.track_uuid or sequence.defaults.track_event_defaults.track_uuid
    name = event.name or sequence.texts.get(("event_names", event.name_iid), "")
    iids = event.category_iids
    categories = [*event.categories, *(sequence.texts["event_categories", iid] for iid in iids), ""]
    return _Mark(*place, event.type == BEGIN, track, name, categories[0])


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
