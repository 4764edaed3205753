"""How far the clocks of a run's workers are apart, by the ends of their common collectives.

A collective ends for all its members together (``analysis.communication.matching``); the median
over all of them leaves out those whose end was recorded late.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.trace.model import Trace


def clock_offsets(traces: Mapping[str, Trace], reference: str) -> dict[str, tuple[int, int]]:
    """By worker what to add to its trace's times to get those of the trace of ``reference``, in ns,
    and on how many collectives that rests; without workers that have none in common with it."""
    matching = match(traces)
    ends = (
        matching.ranges.filter(pl.col("match").is_not_null())
        .group_by("worker", "match")
        .agg(pl.col("end_ns").max())
    )
    number = matching.workers.index(reference)
    of_reference = ends.filter(pl.col("worker") == number).select("match", reference_ns="end_ns")
    apart = (
        ends.join(of_reference, on="match")
        .group_by("worker")
        .agg((pl.col("reference_ns") - pl.col("end_ns")).median().alias("apart"), pl.len())
    )
    return {matching.workers[at]: (round(ns), count) for at, ns, count in apart.iter_rows()}
