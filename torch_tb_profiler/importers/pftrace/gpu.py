"""GPU render stages (device work) and GPU counters."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.pftrace.arguments import (
    NamedArguments,
    extra_data,
    launch_arguments,
)
from torch_tb_profiler.importers.pftrace.batch import Argument, TrackKey
from torch_tb_profiler.importers.pftrace.counters import counter_numbers, descriptor_numbers
from torch_tb_profiler.importers.pftrace.fields import (
    GpuCounterEvent,
    GpuRenderStageEvent,
    InternedData,
    TracePacket,
)
from torch_tb_profiler.importers.pftrace.tables import PieceTables
from torch_tb_profiler.importers.protobuf.texts import distinct_ranges
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.limits import MAX_DEVICES

LAUNCH_KEYS = {GpuRenderStageEvent.GRID: "grid", GpuRenderStageEvent.BLOCK: "block"}


def read_stages(rows: PieceTables, packets: Fields) -> None:
    """Read the render stages of a piece.

    Args:
        rows: The tables of the piece, which are extended.
        packets: Its packets.
    """
    texts = rows.texts
    messages = packets.pick(TracePacket.GPU_STAGE, DELIMITED)
    is_complete = ~rows.scopes.is_lost[messages.message]
    texts.quality.add("state_lost", int((~is_complete).sum()))
    packet = messages.message[is_complete]
    stages = texts.wire.fields(messages.start[is_complete], messages.end[is_complete])
    texts.quality.add("broken_message", stages.broken)
    if not packet.size:
        return
    gpu = stages.ints(GpuRenderStageEvent.GPU, default=0)
    queue = texts.interned(
        InternedData.GPU_SPECIFICATION, stages.ints(GpuRenderStageEvent.QUEUE_IID), packet
    )
    stage = texts.interned(
        InternedData.GPU_SPECIFICATION, stages.ints(GpuRenderStageEvent.STAGE_IID), packet
    )
    name = texts.first(
        texts.interned(InternedData.NAME, stages.ints(GpuRenderStageEvent.NAME_IID), packet),
        texts.interned(InternedData.KERNEL, stages.ints(GpuRenderStageEvent.KERNEL_IID), packet),
        stage,
    )
    before = rows.slice_count
    duration = stages.ints(GpuRenderStageEvent.DURATION, default=0)
    rows.add(
        "slices",
        {
            "packet": packet,
            "track": _queue_tracks(rows, gpu, queue),
            "name_code": name,
            "raw_category_code": np.full(packet.size, -1, np.int32),
            "stage_code": stage,
            "dur_ns": np.where(duration < 0, 0, duration),
            "event_id": stages.ints(GpuRenderStageEvent.EVENT_ID),
        },
    )
    row = before + np.arange(packet.size)
    extra = stages.pick(GpuRenderStageEvent.EXTRA, DELIMITED)
    arguments = extra_data(texts, extra, row[extra.message])
    arguments.append((texts.codes["device"], Argument(row, ints=gpu)))
    rows.arguments += arguments + _launch_arguments(rows, stages, row, packet)


def _queue_tracks(rows: PieceTables, gpu: Int64, queue: Int32) -> Int32:
    """Codes of the tracks of queues, by GPU and code of the name."""
    keys = np.stack([gpu, queue.astype(np.int64)], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    codes = [
        rows.track(TrackKey("queue", number if 0 <= number < MAX_DEVICES else -1, code))
        for number, code in distinct.tolist()
    ]
    return np.array(codes, np.int32)[inverse.reshape(-1)]


def _launch_arguments(
    rows: PieceTables, stages: Fields, row: Int64, packet: Int64
) -> NamedArguments:
    """Grids, blocks and arguments of launches."""
    texts, wire = rows.texts, rows.texts.wire
    launches = stages.pick(GpuRenderStageEvent.LAUNCH, DELIMITED)
    if not launches.message.size:
        return []
    fields = wire.fields(launches.start, launches.end)
    row, packet = row[launches.message], packet[launches.message]
    messages = fields.pick(GpuRenderStageEvent.ARGUMENTS, DELIMITED)
    arguments = launch_arguments(texts, messages, row[messages.message], packet[messages.message])
    for number, key in LAUNCH_KEYS.items():
        dims = fields.pick(number, DELIMITED)
        if dims.message.size:
            codes, ranges = distinct_ranges(wire, dims.start, dims.end)
            values = [_dims(data) for data in ranges]
            argument = Argument(row[dims.message], codes=codes, values=values)
            arguments.append((texts.codes[key], argument))
    return arguments


def _dims(data: bytes) -> list[int]:
    """The three numbers of a ``Dim3``; absent ones are 1."""
    fields = Wire(data).fields(np.array([0]), np.array([len(data)]))
    return [int(fields.ints(number, default=1)[0]) for number in (1, 2, 3)]


def read_counters(rows: PieceTables, packets: Fields) -> None:
    """Read the GPU counters of a piece.

    Args:
        rows: The tables of the piece, which are extended.
        packets: Its packets.
    """
    texts = rows.texts
    messages = packets.pick(TracePacket.GPU_COUNTERS, DELIMITED)
    is_complete = ~rows.scopes.is_lost[messages.message]
    packet = messages.message[is_complete]
    events = texts.wire.fields(messages.start[is_complete], messages.end[is_complete])
    values = events.pick(GpuCounterEvent.VALUES, DELIMITED)
    if not values.message.size:
        return
    fields = texts.wire.fields(values.start, values.end)
    whole = fields.ints(GpuCounterEvent.INT)
    value = fields.floats(GpuCounterEvent.DOUBLE)
    value = np.where(np.isnan(value) & (whole != ABSENT), whole.astype(np.float64), value)
    packet = packet[values.message]
    descriptor = descriptor_numbers(events)[values.message]
    counter = fields.ints(GpuCounterEvent.COUNTER_ID, default=0)
    names = texts.interned(InternedData.COUNTERS, counter_numbers(descriptor, counter), packet)
    gpus = texts.interned(InternedData.COUNTERS_OF_GPU, descriptor, packet)
    distinct, inverse = np.unique(gpus, return_inverse=True)
    tracks = [rows.track(TrackKey("counters", 0, code)) for code in distinct.tolist()]
    is_finite = np.isfinite(value)
    rows.add(
        "counters",
        {
            "packet": packet[is_finite],
            "track": np.array(tracks, np.int32)[inverse][is_finite],
            "name_code": names[is_finite],
            "series_code": np.full(int(is_finite.sum()), texts.codes[""], np.int32),
            "value": value[is_finite],
            "resets": np.zeros(int(is_finite.sum()), np.int64),
        },
    )
