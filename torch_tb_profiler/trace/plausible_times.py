"""Times that every sum of a trace stays within 64 bits of.

Formats leave out what they know to be damage; what is left may still lie centuries apart. Such
times are moved to the edge of what a recording can last, and counted.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, EventColumns, Int64
from torch_tb_profiler.trace.quality import QualityReport

REACH_NS = 2**55
"""417 days: the furthest from the middle of a recording that anything in it lies."""

MAX_SUM_NS = 2**62
"""The most that all durations add up to: 146 years of all threads together."""

_TIMES = ("memory", "held_memory", "flows", "counters", "instants", "samples")
"""Tables besides the slices whose rows have a moment, ``time_ns``."""


def limit_times(events: EventColumns, quality: QualityReport) -> None:
    """Bring the times of ``events`` within :data:`REACH_NS` of the middle one of their kind, the
    durations within :data:`MAX_SUM_NS` together, and those below 0 to 0; ``quality`` counts them.
    """
    slices = events.tables["slices"]
    start, duration = slices["start_ns"], slices["dur_ns"]
    middle = _middle(start)
    for name in _TIMES:
        times = events.tables[name]["time_ns"]
        known = times[times != ABSENT]
        if middle is None:
            middle = _middle(known)
        if middle is not None and _is_far(known, middle):
            near = np.where(times == ABSENT, ABSENT, _near(times, middle))
            quality.add("far_time", int((near != times).sum()))
            events.tables[name]["time_ns"] = near
    if middle is None or not len(start):
        return
    if _is_far(start, middle):
        near = _near(start, middle)
        quality.add("far_time", int((near != start).sum()))
        slices["start_ns"] = start = near
    if int(duration.min()) < 0:
        quality.add("negative_duration", int((duration < 0).sum()))
        slices["dur_ns"] = duration = np.maximum(duration, 0)
    most = middle + REACH_NS - start
    if int(duration.max()) > int(most.min()) and (duration > most).any():
        quality.add("huge_duration", int((duration > most).sum()))
        slices["dur_ns"] = duration = np.minimum(duration, most)
    if float(duration.sum(dtype=np.float64)) > MAX_SUM_NS:
        share = MAX_SUM_NS // len(duration)
        quality.add("huge_duration", int((duration > share).sum()))
        slices["dur_ns"] = np.minimum(duration, share)


def _middle(times: Int64) -> int | None:
    """The middle one where they lie far apart, else any; None of none."""
    if not len(times):
        return None
    if int(times.max()) - int(times.min()) <= REACH_NS // 2:
        return int(times[0])
    return int(np.partition(times, len(times) // 2)[len(times) // 2])


def _is_far(times: Int64, middle: int) -> bool:
    return len(times) > 0 and (
        int(times.max()) > middle + REACH_NS or int(times.min()) < middle - REACH_NS
    )


def _near(times: Int64, middle: int) -> Int64:
    near: Int64 = np.clip(times, middle - REACH_NS, middle + REACH_NS)
    return near
