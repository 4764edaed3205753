"""How far the clocks of a run's workers are apart, by the ends of their common collectives.

A collective ends for all its members together (``analysis.collectives.matching``); the median
over all of them leaves out those whose end was recorded late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from torch_tb_profiler.analysis.collectives.matching import match
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True)
class WorkerClock:
    """What to add to the times of a worker's timeline; null when nothing tells it.

    Attributes:
        worker: Its name.
        offset_ns: What to add to its timeline's times to get those of the reference's timeline;
            None when they have no collective in common.
        collectives: How many collectives that rests on.
    """

    worker: str
    offset_ns: int | None
    collectives: int


def worker_clocks(traces: Mapping[str, Trace], reference: str) -> list[WorkerClock]:
    """The clocks of all workers against that of ``reference``, which is one of them."""
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
    offsets = {worker: (ns, count) for worker, ns, count in apart.iter_rows()}
    clocks = []
    for at, worker in enumerate(matching.workers):
        if worker == reference:
            clocks.append(WorkerClock(worker, 0, offsets.get(at, (0, 0))[1]))
        elif at in offsets:
            ns, count = offsets[at]
            origins = traces[worker].meta.start_ns - traces[reference].meta.start_ns
            clocks.append(WorkerClock(worker, round(ns) + origins, count))
        else:
            clocks.append(WorkerClock(worker, None, 0))
    return clocks
