"""The clock of a recording: monotonic in the process, nanoseconds since 1970 in written files."""

from __future__ import annotations

import time

perf_ns = time.perf_counter_ns

_OFFSET_NS = max(
    (time.time_ns() - time.perf_counter_ns() for _ in range(5)),
)
"""Measured once, so that adjusting the system clock during the run does not shift recorded times.
Of five samples the largest has the shortest delay between its two clock reads."""


def to_unix(time_ns: int) -> int:
    """Convert a time of :data:`perf_ns` to nanoseconds since 1970."""
    return time_ns + _OFFSET_NS


def unix_ns() -> int:
    """The current time in nanoseconds since 1970."""
    return time.perf_counter_ns() + _OFFSET_NS
