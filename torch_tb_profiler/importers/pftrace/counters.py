"""What the counters of GPUs are called: descriptors, interned or given with the first values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.pftrace.fields import GpuCounterEvent, InternedData, TracePacket
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.limits import MAX_DEVICES

INLINE = 1 << 16
"""The descriptor that is given in place for GPU n has the number INLINE + n."""

MAX_COUNTERS = 1 << 20

Entries = dict[tuple[int, int], dict[int, str]]


def descriptor_numbers(events: Fields) -> Int64:
    """Per event the number of the descriptor that its counters have; 0 for none that is sane."""
    iid = events.ints(GpuCounterEvent.DESCRIPTOR_IID)
    gpu = events.ints(GpuCounterEvent.GPU, default=0)
    number = np.where(iid == ABSENT, INLINE + gpu, iid)
    is_sane = np.where(iid == ABSENT, (gpu >= 0) & (gpu < MAX_DEVICES), (iid > 0) & (iid < INLINE))
    return np.where(is_sane, number, 0)


def counter_numbers(descriptor: Int64, counter: Int64) -> Int64:
    """One number per counter of a descriptor; 0 for none that is sane."""
    is_sane = (descriptor > 0) & (counter >= 0) & (counter < MAX_COUNTERS - 1)
    return np.where(is_sane, descriptor * MAX_COUNTERS + counter + 1, 0)


class Scoped(NamedTuple):
    """Messages, and the scope of each."""

    fields: Fields
    scope: Int64


def take_counter_names(wire: Wire, packets: Scoped, interned: Scoped, entries: Entries) -> None:
    """Enter the names of counters among the texts of scopes, and the GPUs of their descriptors.

    Args:
        wire: Of the piece.
        packets: Its packets.
        interned: Its interned data.
        entries: (scope, kind) → number → text.
    """
    picked = interned.fields.pick(InternedData.COUNTERS, DELIMITED)
    if picked.message.size:
        given = wire.fields(picked.start, picked.end)
        iid = given.ints(InternedData.IID, default=0)
        number = np.where((iid > 0) & (iid < INLINE), iid, 0)
        gpu = given.ints(InternedData.COUNTERS_GPU, default=0)
        place = interned.scope[picked.message]
        owners = _Owners(given, InternedData.COUNTERS_DESCRIPTOR, number, gpu, place)
        _enter(wire, owners, entries)
    events = packets.fields.pick(TracePacket.GPU_COUNTERS, DELIMITED)
    if events.message.size:
        fields = wire.fields(events.start, events.end)
        gpu = fields.ints(GpuCounterEvent.GPU, default=0)
        number = np.where((gpu >= 0) & (gpu < MAX_DEVICES), INLINE + gpu, 0)
        place = packets.scope[events.message]
        owners = _Owners(fields, GpuCounterEvent.DESCRIPTOR, number, gpu, place)
        _enter(wire, owners, entries)


class _Owners(NamedTuple):
    """Messages that hold descriptors: in which field, and number, GPU and scope of each."""

    fields: Fields
    field: int
    number: Int64
    gpu: Int64
    scope: Int64


def _enter(wire: Wire, owners: _Owners, entries: Entries) -> None:
    number, scope = owners.number, owners.scope
    descriptors = owners.fields.pick(owners.field, DELIMITED)
    owner = descriptors.message[number[descriptors.message] > 0]
    for row in np.unique(owner).tolist():
        found = entries.setdefault((int(scope[row]), InternedData.COUNTERS_OF_GPU), {})
        found[int(number[row])] = str(owners.gpu[row])
    fields = wire.fields(descriptors.start, descriptors.end)
    picked = fields.pick(GpuCounterEvent.SPECS, DELIMITED)
    specs = wire.fields(picked.start, picked.end)
    row_of = descriptors.message[picked.message]
    keys = counter_numbers(number[row_of], specs.ints(GpuCounterEvent.SPEC_ID, default=0))
    codes, texts = distinct_texts(wire, *specs.spans(GpuCounterEvent.SPEC_NAME))
    for key, place, code in zip(keys.tolist(), scope[row_of].tolist(), codes.tolist(), strict=True):
        if key and code >= 0:
            entries.setdefault((place, InternedData.COUNTERS), {})[key] = texts[code]
