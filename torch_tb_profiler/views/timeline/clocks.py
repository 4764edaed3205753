"""Clock offsets that align the timelines of other workers with the timeline of one."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.communication.clocks import ClockOffset, clock_offsets
from torch_tb_profiler.analysis.communication.matching import match
from torch_tb_profiler.analysis.communication.metadata import in_rank_order, own_rank
from torch_tb_profiler.analysis.ranks.locations import rank_locations
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds


class WorkerClock(Struct, frozen=True):
    """Clock offset of a worker's timeline; null if unknown.

    Attributes:
        worker: Its name.
        rank: Its recorded rank.
        node: The machine that it ran on; None if unknown.
        origin_us: Moment 0 of its timeline in times of its trace.
        end_ns: End of its timeline.
        offset_ns: What to add to its timeline's times to get those of the reference's timeline;
            None where neither collectives nor transfers connect the two, not even through others.
            In the middle of the recordings, where clocks drift.
        drift_ppm: What ``offset_ns`` grows by, in µs per second; 0 where that is not significant.
        collectives: How many collectives that rests on; of a chain of workers those of its weakest
            pair.
        hops: Pairs of workers between it and the reference: 1 where both have common collectives.
        uncertainty_ns: Standard error of the offset (est.), at least the disagreement with other
            chains; None where too few collectives give none.
    """

    worker: str
    rank: int | None
    node: str | None
    origin_us: float
    end_ns: int
    offset_ns: int | None
    drift_ppm: float
    collectives: int
    hops: int
    uncertainty_ns: int | None


class WorkerGroup(Struct, frozen=True):
    """A process group of the reference.

    Attributes:
        label: Its name, ``"0 (default_pg)"``.
        workers: Its members among the workers of the run.
    """

    label: str
    workers: list[str]


def worker_clocks(traces: Mapping[str, Trace], reference: str) -> list[WorkerClock]:
    """The clocks of all workers against that of ``reference``, which is one of them."""
    offsets = clock_offsets(traces, reference)
    origin_ns = traces[reference].meta.start_ns
    ordered = in_rank_order(traces)
    nodes = rank_locations(ordered)["node"].to_list()
    return [
        _worker_clock(worker, trace, node, offsets.get(worker), origin_ns)
        for (worker, trace), node in zip(ordered.items(), nodes, strict=True)
    ]


def worker_groups(traces: Mapping[str, Trace], reference: str) -> list[WorkerGroup]:
    """The process groups that ``reference`` has calls in, with the workers that have some too;
    those of all workers, and of it alone, are no choice and left out."""
    matching = match(traces)
    calls = matching.calls.select("worker", "group_key", "group").drop_nulls().unique()
    own = calls.filter(pl.col("worker") == matching.workers.index(reference))
    members = (
        calls.join(own.select("group_key"), on="group_key", how="semi")
        .group_by("group_key")
        .agg(pl.col("group").first(), pl.col("worker").unique().sort())
        .filter(pl.col("worker").list.len().is_between(2, len(matching.workers) - 1))
        .sort("group")
    )
    return [
        WorkerGroup(label, [matching.workers[row] for row in rows])
        for _, label, rows in members.iter_rows()
    ]


def _worker_clock(
    worker: str, trace: Trace, node: str | None, offset: ClockOffset | None, reference_ns: int
) -> WorkerClock:
    """Timelines count from their first events; that of the reference is at ``reference_ns``."""
    start_ns, end_ns = trace.meta.start_ns, trace.meta.end_ns
    clock = WorkerClock(
        worker=worker,
        rank=own_rank(trace),
        node=node,
        origin_us=exact_microseconds(start_ns),
        end_ns=end_ns - start_ns,
        offset_ns=None,
        drift_ppm=0.0,
        collectives=0,
        hops=0,
        uncertainty_ns=None,
    )
    if offset is None:
        return clock
    return replace(
        clock,
        offset_ns=offset.offset_ns + start_ns - reference_ns,
        drift_ppm=offset.drift_ppm,
        collectives=offset.collectives,
        hops=offset.hops,
        uncertainty_ns=offset.uncertainty_ns,
    )
