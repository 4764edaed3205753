"""Offsets between the clocks of a run's workers, from the ends of their common collectives.

A collective ends for all its members together (``analysis.communication.matching``); the median
over all of them is not affected by those whose end was recorded late.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.trace.model import Trace


def clock_offsets(traces: Mapping[str, Trace], reference: str) -> dict[str, tuple[int, int]]:
    """By worker the offset in ns that turns times of its trace into times of the trace of
    ``reference``, and how many collectives it is estimated from; workers without a common
    collective are left out."""
    matching = match(traces)
    ends = (
        matching.ranges.filter(pl.col("match").is_not_null())
        .group_by("worker", "match")
        .agg(pl.col("end_ns").max())
    )
    reference_index = matching.workers.index(reference)
    reference_ends = ends.filter(pl.col("worker") == reference_index).select(
        "match", reference_ns="end_ns"
    )
    offsets = (
        ends.join(reference_ends, on="match")
        .group_by("worker")
        .agg((pl.col("reference_ns") - pl.col("end_ns")).median().alias("offset"), pl.len())
    )
    return {matching.workers[row]: (round(ns), count) for row, ns, count in offsets.iter_rows()}
