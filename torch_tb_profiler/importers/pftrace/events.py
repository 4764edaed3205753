"""Track events: begins, ends, instants, counters."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.pftrace.arguments import debug_annotations
from torch_tb_profiler.importers.pftrace.fields import (
    BEGIN,
    COUNTER,
    END,
    INSTANT,
    InternedData,
    TracePacket,
    TrackEvent,
)
from torch_tb_profiler.importers.pftrace.tables import PieceTables
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, FIXED64, VARINT, Fields
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int32, Int64

KINDS = (BEGIN, END, INSTANT, COUNTER)


def read_events(rows: PieceTables, packets: Fields) -> None:
    """Read the track events of a piece.

    Args:
        rows: The tables of the piece, which are extended.
        packets: Its packets.
    """
    texts = rows.texts
    messages = packets.pick(TracePacket.TRACK_EVENT, DELIMITED)
    is_complete = ~rows.scopes.is_lost[messages.message]
    texts.quality.add("state_lost", int((~is_complete).sum()))
    packet = messages.message[is_complete]
    events = texts.wire.fields(messages.start[is_complete], messages.end[is_complete])
    texts.quality.add("broken_message", events.broken)
    if not packet.size:
        return
    kind = events.ints(TrackEvent.TYPE, default=0)
    texts.quality.add("unknown_phase", int((~np.isin(kind, KINDS)).sum()))
    track = rows.tracks(events.ints(TrackEvent.TRACK), packet)
    name = texts.first(
        texts.inline(*events.spans(TrackEvent.NAME)),
        texts.interned(InternedData.NAME, events.ints(TrackEvent.NAME_IID), packet),
    )
    slices = np.flatnonzero(kind == BEGIN)
    before = rows.slice_count
    rows.add(
        "slices",
        {
            "packet": packet[slices],
            "track": track[slices],
            "name_code": name[slices],
            "raw_category_code": _categories(rows, events, packet)[slices],
            "stage_code": np.full(slices.size, -1, np.int32),
            "dur_ns": np.full(slices.size, ABSENT, np.int64),
            "event_id": np.full(slices.size, ABSENT, np.int64),
        },
    )
    ends = kind == END
    rows.add("ends", {"packet": packet[ends], "track": track[ends]})
    instants = kind == INSTANT
    rows.add(
        "instants",
        {"packet": packet[instants], "track": track[instants], "name_code": name[instants]},
    )
    _add_counters(rows, events, packet, track, kind == COUNTER)
    row_of = np.full(events.count, -1, np.int64)
    row_of[slices] = before + np.arange(slices.size)
    annotations = events.unordered(TrackEvent.ANNOTATIONS, DELIMITED)
    on_slices = row_of[annotations.message] >= 0
    if not on_slices.all():
        annotations = annotations.select(on_slices)
    rows.arguments += debug_annotations(
        texts, annotations, row_of[annotations.message], packet[annotations.message]
    )
    _add_flows(rows, events, row_of)


def _categories(rows: PieceTables, events: Fields, packet: Int64) -> Int32:
    """The first category of each event."""
    message, iids = rows.texts.wire.numbers(events, TrackEvent.CATEGORY_IIDS)
    iid = np.full(events.count, ABSENT, np.int64)
    iid[message[::-1]] = iids[::-1]
    interned = rows.texts.interned(InternedData.CATEGORY, iid, packet)
    inline = events.pick(TrackEvent.CATEGORIES, DELIMITED)
    if not inline.message.size:
        return interned
    start = np.full(events.count, ABSENT, np.int64)
    end = np.full(events.count, ABSENT, np.int64)
    start[inline.message[::-1]] = inline.start[::-1]
    end[inline.message[::-1]] = inline.end[::-1]
    return rows.texts.first(interned, rows.texts.inline(start, end))


def _add_counters(
    rows: PieceTables, events: Fields, packet: Int64, track: Int32, is_counter: Bools
) -> None:
    """Add counters of the program, which are named by their track."""
    if not is_counter.any():
        return
    whole = events.ints(TrackEvent.COUNTER_INT)
    value = events.floats(TrackEvent.COUNTER_DOUBLE)
    value = np.where(np.isnan(value) & (whole != ABSENT), whole.astype(np.float64), value)
    used = np.flatnonzero(is_counter & np.isfinite(value))
    absent = np.full(used.size, -1, np.int32)
    rows.add(
        "counters",
        {
            "packet": packet[used],
            "track": track[used],
            "name_code": absent,
            "series_code": absent,
            "value": value[used],
            "resets": rows.scopes.resets[packet[used]],
        },
    )


def _add_flows(rows: PieceTables, events: Fields, row_of: Int64) -> None:
    """Add flows of slices, and the work that their calls submitted to GPUs."""
    for is_end, numbers in ((0, TrackEvent.FLOWS), (1, TrackEvent.ENDING_FLOWS)):
        for number, wire_type in zip(numbers, (FIXED64, VARINT), strict=True):
            flows = events.pick(number, wire_type)
            on_slice = row_of[flows.message] >= 0
            if on_slice.any():
                flow = flows.value[on_slice]
                rows.add(
                    "flows",
                    {
                        "slice": row_of[flows.message[on_slice]],
                        "flow": flow,
                        "is_end": np.full(flow.size, is_end, np.int8),
                    },
                )
    correlations = events.pick(TrackEvent.GPU_CORRELATION, DELIMITED)
    if correlations.message.size:
        wire = rows.texts.wire
        fields = wire.fields(correlations.start, correlations.end)
        message, event_id = wire.numbers(fields, TrackEvent.SUBMITTED_EVENTS)
        row = row_of[correlations.message[message]]
        rows.add("submissions", {"slice": row[row >= 0], "event_id": event_id[row >= 0]})
