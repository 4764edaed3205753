"""Names and units of GPU counters, from descriptors that are interned or inline with the first
values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.importers.pftrace.fields import GpuCounterEvent, InternedData, TracePacket
from torch_tb_profiler.importers.pftrace.units import gpu_unit, with_unit
from torch_tb_profiler.importers.protobuf.texts import distinct_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Wire
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.limits import MAX_DEVICES

INLINE = 1 << 16
"""The inline descriptor for GPU n has the number INLINE + n."""

MAX_COUNTERS = 1 << 20

MAX_UNITS = 8
"""Further units that a counter multiplies or divides by are dropped."""

Entries = dict[tuple[int, int], dict[int, str]]


def descriptor_numbers(events: Fields) -> Int64:
    """Per event the number of the descriptor of its counters; 0 if it is implausible."""
    iid = events.ints(GpuCounterEvent.DESCRIPTOR_IID)
    gpu = events.ints(GpuCounterEvent.GPU, default=0)
    number = np.where(iid == ABSENT, INLINE + gpu, iid)
    is_plausible = np.where(
        iid == ABSENT, (gpu >= 0) & (gpu < MAX_DEVICES), (iid > 0) & (iid < INLINE)
    )
    return np.where(is_plausible, number, 0)


def counter_numbers(descriptor: Int64, counter: Int64) -> Int64:
    """A unique number per counter of a descriptor; 0 if it is implausible."""
    is_plausible = (descriptor > 0) & (counter >= 0) & (counter < MAX_COUNTERS - 1)
    return np.where(is_plausible, descriptor * MAX_COUNTERS + counter + 1, 0)


class ScopedMessages(NamedTuple):
    """Messages and the scope of each."""

    fields: Fields
    scope: Int64


def read_counter_names(
    wire: Wire, packets: ScopedMessages, interned: ScopedMessages, entries: Entries
) -> None:
    """Add the names of counters, and the GPUs of their descriptors, to the texts of scopes.

    Args:
        wire: The piece.
        packets: Its packets.
        interned: Its interned data.
        entries: (scope, kind) → number → text.
    """
    messages = interned.fields.pick(InternedData.COUNTERS, DELIMITED)
    if messages.message.size:
        fields = wire.fields(messages.start, messages.end)
        iid = fields.ints(InternedData.IID, default=0)
        number = np.where((iid > 0) & (iid < INLINE), iid, 0)
        gpu = fields.ints(InternedData.COUNTERS_GPU, default=0)
        scope = interned.scope[messages.message]
        owners = _DescriptorOwners(fields, InternedData.COUNTERS_DESCRIPTOR, number, gpu, scope)
        _add_names(wire, owners, entries)
    events = packets.fields.pick(TracePacket.GPU_COUNTERS, DELIMITED)
    if events.message.size:
        fields = wire.fields(events.start, events.end)
        gpu = fields.ints(GpuCounterEvent.GPU, default=0)
        number = np.where((gpu >= 0) & (gpu < MAX_DEVICES), INLINE + gpu, 0)
        scope = packets.scope[events.message]
        owners = _DescriptorOwners(fields, GpuCounterEvent.DESCRIPTOR, number, gpu, scope)
        _add_names(wire, owners, entries)


class _DescriptorOwners(NamedTuple):
    """Messages with descriptors: the field of the descriptor, and number, GPU and scope of each."""

    fields: Fields
    field: int
    number: Int64
    gpu: Int64
    scope: Int64


def _add_names(wire: Wire, owners: _DescriptorOwners, entries: Entries) -> None:
    number, scope = owners.number, owners.scope
    descriptors = owners.fields.pick(owners.field, DELIMITED)
    owner = descriptors.message[number[descriptors.message] > 0]
    for row in np.unique(owner).tolist():
        gpus = entries.setdefault((int(scope[row]), InternedData.COUNTERS_OF_GPU), {})
        gpus[int(number[row])] = str(owners.gpu[row])
    fields = wire.fields(descriptors.start, descriptors.end)
    messages = fields.pick(GpuCounterEvent.SPECS, DELIMITED)
    specs = wire.fields(messages.start, messages.end)
    row_of = descriptors.message[messages.message]
    keys = counter_numbers(number[row_of], specs.ints(GpuCounterEvent.SPEC_ID, default=0))
    codes, texts = distinct_texts(wire, *specs.spans(GpuCounterEvent.SPEC_NAME))
    above, below = (
        _units(wire, specs, number)
        for number in (GpuCounterEvent.SPEC_UNITS, GpuCounterEvent.SPEC_DIVISOR_UNITS)
    )
    for row, (key, owner_scope, code) in enumerate(
        zip(keys.tolist(), scope[row_of].tolist(), codes.tolist(), strict=True)
    ):
        if key and code >= 0:
            name = with_unit(texts[code], gpu_unit(above.get(row, ()), below.get(row, ())))
            entries.setdefault((owner_scope, InternedData.COUNTERS), {})[key] = name


def _units(wire: Wire, specs: Fields, number: int) -> dict[int, list[int]]:
    """Per spec that has any, its units of one field, in order."""
    units: dict[int, list[int]] = {}
    for row, unit in zip(*(part.tolist() for part in wire.numbers(specs, number)), strict=True):
        known = units.setdefault(row, [])
        if len(known) < MAX_UNITS:
            known.append(unit)
    return units
