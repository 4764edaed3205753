"""Field numbers of Perfetto's messages, for the fields that are read.

Source: Perfetto's ``protos/perfetto/trace`` (https://perfetto.dev/docs/reference/trace-packet-proto),
and the extensions of PyTorch's encoder (docs/format-pftrace.md#extensions).
"""

from __future__ import annotations

PACKET_TAG = 0x0A
"""Tag of field 1, length-delimited, of ``Trace``: the only field of a file."""


class TracePacket:
    """``TracePacket``."""

    CLOCK_SNAPSHOT = 6
    TIMESTAMP = 8
    SEQUENCE = 10
    TRACK_EVENT = 11
    INTERNED = 12
    FLAGS = 13
    DROPPED = 42
    THREAD = 44
    GPU_COUNTERS = 52
    GPU_STAGE = 53
    CLOCK = 58
    DEFAULTS = 59
    TRACK = 60


STATE_CLEARED, NEEDS_STATE = 1, 2
"""Bits of ``TracePacket.FLAGS``."""


class TracePacketDefaults:
    """``TracePacketDefaults``."""

    TRACK_EVENT = 11
    CLOCK = 58
    TRACK_EVENT_TRACK = 11


class ClockSnapshotFields:
    """``ClockSnapshot``, and its clocks."""

    CLOCKS = 1
    PRIMARY = 2
    CLOCK_ID = 1
    TIMESTAMP = 2
    IS_INCREMENTAL = 3
    UNIT_NS = 4


class TrackEvent:
    """``TrackEvent`` with PyTorch's extension."""

    CATEGORY_IIDS = 3
    ANNOTATIONS = 4
    TYPE = 9
    NAME_IID = 10
    TRACK = 11
    CATEGORIES = 22
    NAME = 23
    COUNTER_INT = 30
    COUNTER_DOUBLE = 44
    FLOWS = (47, 36)
    ENDING_FLOWS = (48, 42)
    GPU_CORRELATION = 3000
    SUBMITTED_EVENTS = 1


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
"""Values of ``TrackEvent.TYPE``."""


class DebugAnnotation:
    """``DebugAnnotation``."""

    NAME_IID = 1
    BOOL = 2
    UINT = 3
    INT = 4
    DOUBLE = 5
    TEXT = 6
    POINTER = 7
    JSON = 9
    NAME = 10
    ENTRIES = 11
    ITEMS = 12
    TEXT_IID = 17


class GpuRenderStageEvent:
    """``GpuRenderStageEvent`` with its extra data and PyTorch's extension for launches."""

    EVENT_ID = 1
    DURATION = 2
    EXTRA = 6
    EXTRA_NAME = 1
    EXTRA_VALUE = 2
    GPU = 11
    QUEUE_IID = 13
    STAGE_IID = 14
    KERNEL_IID = 19
    NAME_IID = 20
    LAUNCH = 21
    GRID = 1
    BLOCK = 2
    ARGUMENTS = 3
    ARGUMENT_IID = 1
    ARGUMENT_VALUE = 4


class GpuCounterEvent:
    """``GpuCounterEvent`` and the descriptors of counters."""

    DESCRIPTOR = 1
    VALUES = 2
    GPU = 3
    DESCRIPTOR_IID = 4
    COUNTER_ID = 1
    INT = 2
    DOUBLE = 3
    SPECS = 1
    SPEC_ID = 1
    SPEC_NAME = 2
    SPEC_UNITS = 7
    SPEC_DIVISOR_UNITS = 8


class InternedData:
    """Kinds of interned entries, by their field number; field 1 of an entry is its iid.

    ``COUNTERS_OF_GPU`` is not part of Perfetto: it is the GPU of a counter descriptor, as text.
    """

    IID = 1
    CATEGORY = 1
    NAME = 2
    ANNOTATION_NAME = 3
    GPU_SPECIFICATION = 24
    TEXT = 29
    COUNTERS = 47
    COUNTERS_OF_GPU = -47
    KERNEL = 1000
    ARGUMENT = 1001
    COUNTERS_DESCRIPTOR = 2
    COUNTERS_GPU = 3


TEXT_OF_ENTRY = {
    InternedData.CATEGORY: 2,
    InternedData.NAME: 2,
    InternedData.ANNOTATION_NAME: 2,
    InternedData.GPU_SPECIFICATION: 2,
    InternedData.TEXT: 2,
    InternedData.KERNEL: 3,
    InternedData.ARGUMENT: 2,
}
"""Kind of entry → the field with its text."""


class TrackDescriptor:
    """``TrackDescriptor``, of processes, threads and counters."""

    UUID = 1
    NAMES = (10, 2)
    PROCESS = 3
    THREAD = 4
    PARENT = 5
    COUNTER = 8
    PID = 1
    PROCESS_NAME = 6
    TID = 2
    THREAD_NAME = 5
    COUNTER_UNIT = 3
    COUNTER_FACTOR = 4
    COUNTER_IS_INCREMENTAL = 5
    COUNTER_UNIT_NAME = 6
