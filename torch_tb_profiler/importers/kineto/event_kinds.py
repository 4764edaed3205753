"""Kinds of events, by phase and category; the kind decides which arguments are read."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.trace.categories import Category


class EventKind(IntEnum):
    """How an event is read."""

    IGNORED = 0
    UNREAD_PHASE = 1
    EMPTY = 2
    META = 3
    FLOW_START = 4
    FLOW_END = 5
    INSTANT = 6
    COUNTER = 7
    HOST_SLICE = 8
    PYTHON_SLICE = 9
    LINK_SLICE = 10
    DEVICE_SLICE = 11
    OTHER_SLICE = 12


FIRST_SLICE_KIND = EventKind.HOST_SLICE

SLICE_KINDS = (
    EventKind.HOST_SLICE,
    EventKind.PYTHON_SLICE,
    EventKind.LINK_SLICE,
    EventKind.DEVICE_SLICE,
    EventKind.OTHER_SLICE,
)

ARGUMENT_FIELDS: dict[EventKind, structs.ArgumentFields] = {
    EventKind.HOST_SLICE: structs.HOST_FIELDS,
    EventKind.PYTHON_SLICE: structs.PYTHON_SLICE_FIELDS,
    EventKind.LINK_SLICE: structs.LINK_FIELDS,
    EventKind.DEVICE_SLICE: structs.WORK_FIELDS,
    EventKind.OTHER_SLICE: structs.ANY_FIELDS,
    EventKind.INSTANT: structs.MEMORY_FIELDS,
}
"""Kind → the arguments that are decoded; of instants those of memory events."""

ARGUMENT_DECODERS: dict[EventKind, msgspec.json.Decoder[Any]] = {
    kind: structs.decoder(f"{kind.name.title().replace('_', '')}Args", fields)
    for kind, fields in ARGUMENT_FIELDS.items()
}

FORWARD_BACKWARD = ("fwdbwd", "forward_backward", "fwd_bwd")

TO_DEVICE = "async_npu"
"""Category of flows in Ascend's traces, from an operator to its device work."""

MEMORY_CATEGORY = "cpu_instant_event"
"""The Python exporter of torch >= 2.13 writes memory events as slices of this category."""

API_TO_OPERATION = "api_op"
"""Category of flows in rocmProfileData's traces, from a call to its device work."""

_READ_FLOWS = (*FORWARD_BACKWARD, TO_DEVICE, API_TO_OPERATION)

_CATEGORY_KINDS: dict[Category, EventKind] = {
    Category.OPERATOR: EventKind.HOST_SLICE,
    Category.PYTHON_OPERATOR: EventKind.HOST_SLICE,
    Category.ANNOTATION: EventKind.HOST_SLICE,
    Category.PYTHON_FUNCTION: EventKind.PYTHON_SLICE,
    Category.RUNTIME: EventKind.LINK_SLICE,
    Category.KERNEL: EventKind.DEVICE_SLICE,
    Category.MEMCPY: EventKind.DEVICE_SLICE,
    Category.MEMSET: EventKind.DEVICE_SLICE,
    Category.DEVICE_ANNOTATION: EventKind.DEVICE_SLICE,
    Category.DEVICE_SYNC: EventKind.DEVICE_SLICE,
    Category.DEVICE_OTHER: EventKind.DEVICE_SLICE,
    Category.OVERHEAD: EventKind.LINK_SLICE,
    Category.SPAN: EventKind.LINK_SLICE,
    Category.HOST_OTHER: EventKind.OTHER_SLICE,
}

_PHASE_KINDS: dict[str, EventKind] = {
    "M": EventKind.META,
    "i": EventKind.INSTANT,
    "I": EventKind.INSTANT,
    "C": EventKind.COUNTER,
    "t": EventKind.IGNORED,
}


def event_kind(phase: Any, category: Any) -> EventKind:
    """The kind of the events with this phase and category."""
    if phase in ("X", "B", "E"):
        return _slice_kind(category)
    if phase in ("s", "f"):
        if isinstance(category, str) and category.lower() in _READ_FLOWS:
            return EventKind.FLOW_START if phase == "s" else EventKind.FLOW_END
        return EventKind.IGNORED
    if phase is None and category is None:
        return EventKind.EMPTY
    return (
        _PHASE_KINDS.get(phase, EventKind.UNREAD_PHASE)
        if isinstance(phase, str)
        else (EventKind.UNREAD_PHASE)
    )


def _slice_kind(category: Any) -> EventKind:
    if category == MEMORY_CATEGORY:
        return EventKind.INSTANT
    known = category_of(category if isinstance(category, str) else None)
    return (
        EventKind.OTHER_SLICE
        if known == UNKNOWN_CATEGORY
        else _CATEGORY_KINDS[Category(int(known))]
    )
