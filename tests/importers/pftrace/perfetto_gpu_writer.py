"""Random GPU work and counters, by Perfetto's own protobuf classes, with what they sum to.

Sequences name queues, stages and kernels by numbers of their own, which they define anew now and
then; counters of GPUs have descriptors, those of tracks may be differences, in other units.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

from tests.helpers.sums import Sums, add_up
from tests.importers.pftrace.perfetto_reader import CLEARED, COUNTER

NEEDS_STATE = protos.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
STAGES = ("Kernel", "Memcpy", "Memset")
KERNELS = ("gemm", "void k<float, 1>(int)", "Größe")
STREAMS = (7, 8, 20)
COUNTERS = ("Power (W)", "SM Active (%)", "Cycles")


class GpuTrace(NamedTuple):
    """A file; its work by (GPU, stream, kind, name) in ns, and values of counters by (name,)."""

    data: bytes
    work: Sums
    counters: Sums


class _Sequence:
    """Writes one packet sequence."""

    def __init__(self, random: Random, number: int) -> None:
        self._random, self._number = random, number
        self._iids: dict[tuple[str, str], int] = {}
        self._first_iid = 1

    def packet(self, time_ns: int) -> protos.TracePacket:
        packet = protos.TracePacket(
            trusted_packet_sequence_id=self._number, timestamp=time_ns, sequence_flags=NEEDS_STATE
        )
        if self._first_iid == 1 or self._random.random() < 0.15:
            packet.sequence_flags = CLEARED
            self._iids, self._first_iid = {}, self._random.randrange(2, 50)
        return packet

    def iid(self, packet: protos.TracePacket, kind: str, text: str) -> int:
        known = self._iids.get((kind, text))
        if known is None:
            known = self._iids[kind, text] = self._first_iid + len(self._iids)
            getattr(packet.interned_data, kind).add(iid=known, name=text)
        return known

    def describe(self, packet: protos.TracePacket, gpu: int) -> int:
        """The number of a descriptor of all counters of a GPU; 0: it stands in the event."""
        if self._random.random() < 0.3:
            _add_specs(packet.gpu_counter_event.counter_descriptor)
            packet.gpu_counter_event.gpu_id = gpu
            return 0
        known = self._iids.get(("counters", str(gpu)))
        if known is None:
            known = self._iids["counters", str(gpu)] = self._first_iid + len(self._iids)
            entry = packet.interned_data.gpu_counter_descriptors.add(iid=known, gpu_id=gpu)
            _add_specs(entry.counter_descriptor)
        return known


def _add_specs(descriptor: protos.GpuCounterDescriptor) -> None:
    for number, name in enumerate(COUNTERS):
        descriptor.specs.add(counter_id=number, name=name)


def random_gpu_trace(seed: int) -> GpuTrace:
    """A trace that depends on nothing but the seed."""
    random = Random(seed)
    sequences = [_Sequence(random, number) for number in range(1, random.randint(2, 4))]
    packets, work, counters = [], [], []
    for _ in range(random.randint(1, 40)):
        sequence = random.choice(sequences)
        packet = sequence.packet(random.randrange(1, 10**9))
        packets.append(packet)
        if random.random() < 0.6:
            work.append(_add_stage(random, sequence, packet))
        else:
            counters += _add_values(random, sequence, packet)
    for number, name in enumerate(("track a", "track b")):
        track_packets, values = _track_counter(random, name, 50 + number)
        packets += track_packets
        counters += [((name,), value) for value in values]
    data = protos.Trace(packet=packets).SerializeToString()
    return GpuTrace(data, add_up(work), add_up(counters))


def _add_stage(
    random: Random, sequence: _Sequence, packet: protos.TracePacket
) -> tuple[tuple[int, int, str, str], int]:
    """Adds work to a packet; its key and its duration."""
    gpu, stage, stream = random.randrange(3), random.choice(STAGES), random.choice(STREAMS)
    event, queue = packet.gpu_render_stage_event, f"[{stream}] stream {stream}"
    event.gpu_id, event.duration = gpu, random.choice((0, 1, random.randrange(10**6)))
    event.hw_queue_iid = sequence.iid(packet, "gpu_specifications", queue)
    event.stage_iid = sequence.iid(packet, "gpu_specifications", stage)
    name = stage
    if stage == "Kernel":
        name = random.choice(KERNELS)
        event.name_iid = sequence.iid(packet, "event_names", name)
    return (gpu, stream, stage.upper(), name), int(event.duration)


def _add_values(
    random: Random, sequence: _Sequence, packet: protos.TracePacket
) -> list[tuple[tuple[str], float]]:
    """Adds values of counters of a GPU to a packet; names and values."""
    iid = sequence.describe(packet, random.randrange(3))
    if iid:
        packet.gpu_counter_event.counter_descriptor_iid = iid
    added = []
    for number in random.sample(range(len(COUNTERS)), random.randint(1, 3)):
        value = packet.gpu_counter_event.counters.add(counter_id=number)
        if random.random() < 0.5:
            value.int_value = random.randrange(100)
        else:
            value.double_value = random.random()
        added.append(((COUNTERS[number],), float(value.int_value or value.double_value)))
    return added


def _track_counter(
    random: Random, name: str, sequence: int
) -> tuple[list[protos.TracePacket], list[float]]:
    """The packets of a counter of its own track and sequence, and its values."""
    uuid = random.getrandbits(62) + 2
    descriptor = protos.TracePacket(trusted_packet_sequence_id=sequence, sequence_flags=CLEARED)
    descriptor.track_descriptor.uuid, descriptor.track_descriptor.name = uuid, name
    counter = descriptor.track_descriptor.counter
    counter.is_incremental = random.random() < 0.6
    counter.unit_multiplier = random.choice((1, 1000))
    packets, values, last = [descriptor], [], 0
    for at in sorted(random.sample(range(1, 10**9), random.randint(1, 8))):
        packet = protos.TracePacket(trusted_packet_sequence_id=sequence, timestamp=at)
        if random.random() < 0.2:
            packet.sequence_flags = CLEARED
            last = 0
        packet.track_event.type, packet.track_event.track_uuid = COUNTER, uuid
        packet.track_event.counter_value = written = random.randrange(-5, 100)
        last = last + written if counter.is_incremental else written
        values.append(float(last * counter.unit_multiplier))
        packets.append(packet)
    return packets, values
