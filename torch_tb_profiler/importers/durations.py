"""Durations that cannot be: what becomes of them, whatever the format."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays
from torch_tb_profiler.trace.quality import QualityReport

LONG_NS = 24 * 3600 * 10**9
LONG_FACTOR = 10
"""A slice is never cut below a day or ten times the range of all starts."""


def sanitize_durations(slices: ColumnArrays, quality: QualityReport) -> None:
    """No duration is absent, negative, or reaches absurdly far behind the recording; in place."""
    start, dur = slices["start_ns"], slices["dur_ns"]
    missing = dur == ABSENT
    quality.add("missing_duration", int(missing.sum()))
    dur[missing] = 0
    negative = dur < 0
    quality.add("negative_duration", int(negative.sum()))
    dur[negative] = 0
    if not start.size:
        return
    extent = int(start.max()) - int(start.min())
    huge = dur > min(max(LONG_NS, LONG_FACTOR * extent), 2**62 - 1)
    if huge.any():
        quality.add("huge_duration", int(huge.sum()))
        end = int((start + np.where(huge, 0, dur)).max())
        dur[huge] = end - start[huge]
