"""The clock of a recording: monotonic inside, nanoseconds since 1970 in what is written."""

from __future__ import annotations

import time

perf_ns = time.perf_counter_ns

_OFFSET_NS = max(
    (time.time_ns() - time.perf_counter_ns() for _ in range(5)),
)
"""Taken once: a clock that is set while the program runs must not move what was recorded. The
largest of some is the one with the least time between its two readings."""


def to_unix(time_ns: int) -> int:
    """A time of :data:`perf_ns` in nanoseconds since 1970."""
    return time_ns + _OFFSET_NS


def unix_ns() -> int:
    """Now, in nanoseconds since 1970."""
    return time.perf_counter_ns() + _OFFSET_NS
