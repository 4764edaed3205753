"""Random Perfetto traces, by Perfetto's own protobuf classes, with the slices that they hold.

Several sequences with interned names, defaults, resets and clocks of their own; each writes several
tracks, of which many have the same name, so that slices of a row overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from tests.importers.pftrace.perfetto_reader import BEGIN, CLEARED, END, Slice

NEEDS_STATE = protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
ROWS = ("stream 7", "stream 8", "thread")
NAMES = tuple(f"kernel_{number}" for number in range(6))
CATEGORIES = ("kernel", "cpu_op")
PROCESS = 1

REALTIME, MONOTONIC, BOOT_TIME, INCREMENTAL, ABSOLUTE = 1, 3, 6, 64, 65
OWN_CLOCKS = (INCREMENTAL, ABSOLUTE)
UNIT_NS = 1000
"""Unit of a sequence's own clocks: all times are multiples of it."""

OFFSETS_NS = {REALTIME: 1_790_857_026 * 10**9, MONOTONIC: 4 * 10**9, BOOT_TIME: 5 * 10**12}
"""Clock → its time at time 0."""


class Event(NamedTuple):
    """A begin or an end, before it is encoded; only a begin has a name."""

    time_ns: int
    track: int
    name: str = ""
    category: str = ""


class RandomTrace(NamedTuple):
    """A file and its slices."""

    data: bytes
    slices: list[Slice]


def random_trace(seed: int) -> RandomTrace:
    """A trace that depends on nothing but the seed."""
    random = Random(seed)
    primary = random.choice((0, MONOTONIC, BOOT_TIME))
    descriptors = [_process()]
    slices: list[Slice] = []
    sequences: list[list[protos.TracePacket]] = []
    for number in range(1, random.randint(1, 3) + 1):
        events: list[Event] = []
        for _ in range(random.randint(1, 4)):
            track, row = random.getrandbits(63) + 2, random.choice(ROWS)
            descriptors.append(_track(track, row))
            track_events, track_slices = _nested(random, track, row)
            events += track_events
            slices += track_slices
        events.sort(key=lambda event: event.time_ns)
        sequences.append(list(SequenceWriter(random, number, primary).write(events)))
    packets = [*descriptors, *_interleaved(random, sequences)]
    # One that names the trace's clock comes before the first event, as Perfetto writes it.
    latest = len(descriptors) if primary else random.choice((0, len(packets)))
    packets.insert(random.randint(0, latest), _service_snapshot(primary))
    return RandomTrace(protos.Trace(packet=packets).SerializeToString(), slices)


def _service_snapshot(primary: int) -> protos.TracePacket:
    packet = protos.TracePacket(trusted_packet_sequence_id=99)
    if primary:
        packet.clock_snapshot.primary_trace_clock = primary
    for clock, offset_ns in OFFSETS_NS.items():
        packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=offset_ns + 17)
    return packet


def _process() -> protos.TracePacket:
    packet = protos.TracePacket()
    packet.track_descriptor.uuid = PROCESS
    packet.track_descriptor.process.pid = 77
    packet.track_descriptor.process.process_name = "python"
    return packet


def _track(uuid: int, name: str) -> protos.TracePacket:
    packet = protos.TracePacket()
    packet.track_descriptor.uuid = uuid
    packet.track_descriptor.parent_uuid = PROCESS
    packet.track_descriptor.name = name
    return packet


def _nested(random: Random, track: int, row: str) -> tuple[list[Event], list[Slice]]:
    """The events of a track in order of time, nested like brackets, and their slices."""
    events: list[Event] = []
    slices: list[Slice] = []
    open_events: list[Event] = []
    time_ns = random.randrange(1000) * UNIT_NS
    remaining = random.randint(1, 8)
    while remaining or open_events:
        if remaining and (not open_events or random.random() < 0.5):
            event = Event(time_ns, track, random.choice(NAMES), random.choice(CATEGORIES))
            open_events.append(event)
            events.append(event)
            remaining -= 1
        else:
            begin = open_events.pop()
            events.append(Event(time_ns, track))
            start_ns = begin.time_ns
            slices.append(Slice(row, begin.name, begin.category, start_ns, time_ns - start_ns))
        time_ns += random.choice((0, 1, 7, 40, 300)) * UNIT_NS
    return events, slices


def _interleaved(
    random: Random, sequences: list[list[protos.TracePacket]]
) -> Iterator[protos.TracePacket]:
    """The packets of all sequences; those of one keep their order."""
    turns = [index for index, packets in enumerate(sequences) for _ in packets]
    random.shuffle(turns)
    remaining = [iter(packets) for packets in sequences]
    yield from (next(remaining[index]) for index in turns)


class SequenceWriter:
    """Writes the events of one packet sequence, with its interned names, defaults and clocks."""

    def __init__(self, random: Random, number: int, primary: int) -> None:
        self._random = random
        self._number = number
        self._trace_clock = primary or BOOT_TIME
        self._related_clock = random.choice((MONOTONIC, BOOT_TIME))
        self._own_offset_ns = random.randrange(1, 10**6) * UNIT_NS
        self._iids: dict[tuple[str, str], int] = {}
        self._default_track = 0
        self._default_clock = 0
        self._last_ns = 0

    def write(self, events: list[Event]) -> Iterator[protos.TracePacket]:
        """The packets of events, which are in order of time."""
        for index, event in enumerate(events):
            if index == 0 or self._random.random() < 0.1:
                yield self._reset(self._random.choice(events).track, event.time_ns)
            yield self._encode(event)

    def _reset(self, default_track: int, time_ns: int) -> protos.TracePacket:
        """Clears the state, and relates the clocks of the sequence to one of the others."""
        packet = protos.TracePacket(trusted_packet_sequence_id=self._number, sequence_flags=CLEARED)
        self._iids = {}
        self._default_track = default_track
        self._default_clock = self._random.choice((0, MONOTONIC, BOOT_TIME, *OWN_CLOCKS))
        packet.trace_packet_defaults.track_event_defaults.track_uuid = default_track
        if self._default_clock:
            packet.trace_packet_defaults.timestamp_clock_id = self._default_clock
        clocks = packet.clock_snapshot.clocks
        related_ns = time_ns + OFFSETS_NS[self._related_clock]
        clocks.add(clock_id=self._related_clock, timestamp=related_ns)
        self._last_ns = time_ns + self._own_offset_ns
        for clock in OWN_CLOCKS:
            clocks.add(
                clock_id=clock,
                timestamp=self._last_ns // UNIT_NS,
                is_incremental=clock == INCREMENTAL,
                unit_multiplier_ns=UNIT_NS,
            )
        return packet

    def _encode(self, event: Event) -> protos.TracePacket:
        packet = protos.TracePacket(
            trusted_packet_sequence_id=self._number, sequence_flags=NEEDS_STATE
        )
        self._stamp(packet, event.time_ns)
        packet.track_event.type = BEGIN if event.name else END
        if event.track != self._default_track or self._random.random() < 0.5:
            packet.track_event.track_uuid = event.track
        if event.name and self._random.random() < 0.2:
            packet.track_event.name = event.name
        elif event.name:
            packet.track_event.name_iid = self._iid(packet, "event_names", event.name)
        if event.category:
            iid = self._iid(packet, "event_categories", event.category)
            packet.track_event.category_iids.append(iid)
        return packet

    def _stamp(self, packet: protos.TracePacket, time_ns: int) -> None:
        """Set the timestamp, on the default clock or another one."""
        clock = self._default_clock
        if self._random.random() < 0.2:
            clock = self._random.choice((MONOTONIC, BOOT_TIME, *OWN_CLOCKS))
            packet.timestamp_clock_id = clock
        if clock not in OWN_CLOCKS:
            packet.timestamp = time_ns + OFFSETS_NS[clock or self._trace_clock]
            return
        value_ns = time_ns + self._own_offset_ns
        if clock == INCREMENTAL:
            value_ns, self._last_ns = value_ns - self._last_ns, value_ns
        packet.timestamp = value_ns // UNIT_NS

    def _iid(self, packet: protos.TracePacket, kind: str, text: str) -> int:
        """The iid of a text; its first use since the last reset defines it."""
        iid = self._iids.get((kind, text))
        if iid is None:
            iid = self._iids[kind, text] = len(self._iids) + 1
            getattr(packet.interned_data, kind).add(iid=iid, name=text)
        return iid
