"""Which of an event's arguments are read: its kind, by phase and category."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto import structs
from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_of
from torch_tb_profiler.trace.categories import Category


class Kind(IntEnum):
    """What becomes of an event."""

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


FIRST_SLICE_KIND = Kind.HOST_SLICE

SLICE_DECODERS: dict[Kind, msgspec.json.Decoder[Any]] = {
    Kind.HOST_SLICE: structs.HOST_ARGS,
    Kind.PYTHON_SLICE: structs.PYTHON_ARGS,
    Kind.LINK_SLICE: structs.LINK_ARGS,
    Kind.DEVICE_SLICE: structs.DEVICE_ARGS,
    Kind.OTHER_SLICE: structs.ANY_ARGS,
}

FORWARD_BACKWARD = ("fwdbwd", "forward_backward", "fwd_bwd")

TO_DEVICE = "async_npu"
"""Flows of Ascend's tools from an operator to what it runs on the device."""

MEMORY_CATEGORY = "cpu_instant_event"
"""The python exporter of torch >= 2.13 writes memory events as slices of this category."""

_KIND_OF_CATEGORY: dict[Category, Kind] = {
    Category.OPERATOR: Kind.HOST_SLICE,
    Category.PYTHON_OPERATOR: Kind.HOST_SLICE,
    Category.ANNOTATION: Kind.HOST_SLICE,
    Category.PYTHON_FUNCTION: Kind.PYTHON_SLICE,
    Category.RUNTIME: Kind.LINK_SLICE,
    Category.KERNEL: Kind.DEVICE_SLICE,
    Category.MEMCPY: Kind.DEVICE_SLICE,
    Category.MEMSET: Kind.DEVICE_SLICE,
    Category.DEVICE_ANNOTATION: Kind.DEVICE_SLICE,
    Category.DEVICE_SYNC: Kind.DEVICE_SLICE,
    Category.DEVICE_OTHER: Kind.DEVICE_SLICE,
    Category.OVERHEAD: Kind.LINK_SLICE,
    Category.SPAN: Kind.LINK_SLICE,
    Category.HOST_OTHER: Kind.OTHER_SLICE,
}

_KIND_OF_PHASE: dict[str, Kind] = {
    "M": Kind.META,
    "i": Kind.INSTANT,
    "I": Kind.INSTANT,
    "C": Kind.COUNTER,
    "t": Kind.IGNORED,
}


def kind_of(phase: Any, category: Any) -> Kind:
    """The kind of the events with this phase and category."""
    if phase in ("X", "B", "E"):
        return _slice_kind(category)
    if phase in ("s", "f"):
        if isinstance(category, str) and category.lower() in (*FORWARD_BACKWARD, TO_DEVICE):
            return Kind.FLOW_START if phase == "s" else Kind.FLOW_END
        return Kind.IGNORED
    if phase is None and category is None:
        return Kind.EMPTY
    return (
        _KIND_OF_PHASE.get(phase, Kind.UNREAD_PHASE)
        if isinstance(phase, str)
        else (Kind.UNREAD_PHASE)
    )


def _slice_kind(category: Any) -> Kind:
    if category == MEMORY_CATEGORY:
        return Kind.INSTANT
    known = category_of(category if isinstance(category, str) else None)
    return (
        Kind.OTHER_SLICE if known == UNKNOWN_CATEGORY else _KIND_OF_CATEGORY[Category(int(known))]
    )
