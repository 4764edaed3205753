"""Times of events: picoseconds from the time of their line → nanoseconds."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.xplane.events import LineBatch
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.quality import QualityReport

PS_PER_NS = 1000
USABLE_NS = 2**62
"""Larger times (after the year 2116) are damage."""


def slice_times(
    batch: LineBatch, timestamp_ns: int, quality: QualityReport
) -> tuple[Int64, Int64, Bools]:
    """Starts and durations in ns, and which events have usable times.

    Start and end are rounded down to whole nanoseconds each, so that events that follow one another
    do so afterwards; a duration may differ by less than one nanosecond.
    """
    offset, duration = batch.offset_ps, batch.duration_ps
    quality.add("negative_duration", int(((duration < 0) & ~batch.is_sum).sum()))
    duration = np.maximum(duration, 0)
    is_usable = (np.abs(offset) < USABLE_NS) & (duration < USABLE_NS) & ~batch.is_sum
    is_usable &= abs(timestamp_ns) < USABLE_NS - USABLE_NS // PS_PER_NS
    offset, duration = np.where(is_usable, offset, 0), np.where(is_usable, duration, 0)
    start = offset // PS_PER_NS
    end = (offset + duration) // PS_PER_NS
    quality.add("event_without_time", int((~is_usable & ~batch.is_sum).sum()))
    quality.add("xplane_sums", int(batch.is_sum.sum()))
    return start + (timestamp_ns if abs(timestamp_ns) < USABLE_NS else 0), end - start, is_usable
