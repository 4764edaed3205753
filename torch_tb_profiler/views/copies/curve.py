"""The rate of copies over time."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import WeightProfile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Line, Series

BUCKETS = 400
"""Stretches of a line at most."""


def rate_series(trace: Trace, copies: pl.DataFrame) -> Series:
    """Bytes copied per time in equally long stretches from the first to the last copy, by kind; a
    copy moves its bytes evenly while it runs."""
    sized = copies.filter(pl.col("bytes").is_not_null() & (pl.col("dur_ns") > 0))
    lines = []
    if sized.height:
        start = sized["start_ns"].to_numpy()
        end = start + sized["dur_ns"].to_numpy()
        edges = np.unique(np.linspace(start.min(), end.max(), BUCKETS + 1).astype(np.int64))
        x = ((edges - trace.meta.start_ns) / NS_PER_US).tolist()
        rate = (sized["bytes"] / sized["dur_ns"]).to_numpy()
        kinds = sized["kind"].fill_null("other").to_numpy()
        for kind in sorted(set(kinds.tolist())):
            own = kinds == kind
            profile = WeightProfile(start[own], end[own], rate[own])
            moved = profile.integrals(edges[:-1], edges[1:])
            # Nothing from the end of the last copy on: a stair holds its level to the next point.
            lines.append(Line(kind, x, [*(moved / np.diff(edges)).tolist(), 0.0]))
    return Series(
        "Rate of copies",
        "stair",
        "Time since the start of the recording",
        "us",
        "Rate",
        "gb_per_s",
        tuple(lines),
    )
