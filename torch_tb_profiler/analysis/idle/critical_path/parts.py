"""The categories of a critical path. Definitions: ``docs/views-critical-path.md#categories``."""

from __future__ import annotations

from enum import IntEnum


class PathPart(IntEnum):
    """What a moment of the path was spent on."""

    COMPUTE = 0
    """A kernel that computes."""
    COMMUNICATION = 1
    """A kernel that moves data between devices, or a collective on the host."""
    COPY = 2
    """A copy or memset on a device."""
    OPERATOR = 3
    """Self time of an operator on the host."""
    PYTHON = 4
    """Python code, or time between operators of a thread."""
    RUNTIME = 5
    """A call into the device's runtime: launches, allocations."""
    LAUNCH = 6
    """From a launch call until its work starts, on a stream that waits for it."""
    KERNEL_GAP = 7
    """Between two pieces of work of a stream, the second already launched."""
    STREAM_WAIT = 8
    """From the end of work of another stream to the work that waited for it."""
    SYNC_RETURN = 9
    """Return latency of a call that waited for the device."""
    HAND_OVER = 10
    """Handoff from one host thread to another: forward to backward, and back."""
    DATA_LOADING = 11
    """The host waits for a batch, or loads it."""
    UNKNOWN = 12
    """What was waited for is not recorded."""


EDGES = (
    PathPart.LAUNCH,
    PathPart.KERNEL_GAP,
    PathPart.STREAM_WAIT,
    PathPart.SYNC_RETURN,
    PathPart.HAND_OVER,
    PathPart.UNKNOWN,
)
"""The parts between two pieces of work."""

ON_DEVICE = (
    PathPart.COMPUTE,
    PathPart.COMMUNICATION,
    PathPart.COPY,
    PathPart.KERNEL_GAP,
    PathPart.STREAM_WAIT,
)
"""The parts in which the step waits for the device, not the host."""
