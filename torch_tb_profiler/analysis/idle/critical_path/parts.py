"""What a piece of a critical path is. Definitions: ``docs/views-critical-path.md#categories``."""

from __future__ import annotations

from enum import IntEnum


class Part(IntEnum):
    """What a moment of the path was spent on."""

    COMPUTE = 0
    """A kernel that computes."""
    COMMUNICATION = 1
    """A kernel that moves data between devices, or a collective on the host."""
    COPY = 2
    """A copy or set on a device."""
    OPERATOR = 3
    """An operator's own time on the host."""
    PYTHON = 4
    """Python code, or what lies between operators of a thread."""
    RUNTIME = 5
    """A call into the device's runtime: launches, allocations."""
    LAUNCH = 6
    """From a call until the work starts that it launched, on a stream that waits for it."""
    KERNEL_GAP = 7
    """Between two pieces of work of a stream, the second launched already."""
    STREAM_WAIT = 8
    """From the end of work of another stream to work that started behind it."""
    SYNC_RETURN = 9
    """A call that waited for the device comes back."""
    HAND_OVER = 10
    """From one host thread to another: forward to backward, and back."""
    DATA_LOADING = 11
    """The host waits for, or makes, a batch."""
    UNKNOWN = 12
    """Nothing recorded tells what was waited for."""


EDGES = (
    Part.LAUNCH,
    Part.KERNEL_GAP,
    Part.STREAM_WAIT,
    Part.SYNC_RETURN,
    Part.HAND_OVER,
    Part.UNKNOWN,
)
"""The parts that lie between two pieces of work."""

ON_DEVICE = (Part.COMPUTE, Part.COMMUNICATION, Part.COPY, Part.KERNEL_GAP, Part.STREAM_WAIT)
"""The parts in which the device, not the host, is what the step waits for."""
