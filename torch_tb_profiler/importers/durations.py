"""Impossible durations (absent, negative, absurdly long) and how every format replaces them."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, ColumnArrays
from torch_tb_profiler.trace.quality import QualityReport

LONG_NS = 24 * 3600 * 10**9
LONG_FACTOR = 10
"""A duration is only shortened above a day or ten times the range of all starts, whichever is
more."""


def sanitize_durations(slices: ColumnArrays, quality: QualityReport) -> None:
    """Replace impossible durations in place, and count them.

    Absent and negative ones become 0; one that ends absurdly far after the recording ends with
    the last plausible slice.

    Args:
        slices: Columns with ``start_ns`` and ``dur_ns``.
        quality: Counts ``missing_duration``, ``negative_duration`` and ``huge_duration``.
    """
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
    too_long = dur > min(max(LONG_NS, LONG_FACTOR * extent), 2**62 - 1)
    if too_long.any():
        quality.add("huge_duration", int(too_long.sum()))
        end = int((start + np.where(too_long, 0, dur)).max())
        dur[too_long] = end - start[too_long]
