"""Clock offsets that align the timelines of other workers with the timeline of one."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from torch_tb_profiler.analysis.communication.clocks import ClockOffset, clock_offsets
from torch_tb_profiler.analysis.communication.metadata import in_rank_order, own_rank
from torch_tb_profiler.trace.model import Trace


class WorkerClock(Struct, frozen=True):
    """Clock offset of a worker's timeline; null if unknown.

    Attributes:
        worker: Its name.
        rank: Its recorded rank.
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
    offset_ns: int | None
    drift_ppm: float
    collectives: int
    hops: int
    uncertainty_ns: int | None


def worker_clocks(traces: Mapping[str, Trace], reference: str) -> list[WorkerClock]:
    """The clocks of all workers against that of ``reference``, which is one of them."""
    offsets = clock_offsets(traces, reference)
    origin_ns = traces[reference].meta.start_ns
    return [
        _worker_clock(worker, own_rank(trace), offsets.get(worker), trace.meta.start_ns - origin_ns)
        for worker, trace in in_rank_order(traces).items()
    ]


def _worker_clock(
    worker: str, rank: int | None, offset: ClockOffset | None, origin_ns: int
) -> WorkerClock:
    """Timelines count from their first events: ``origin_ns`` is between those."""
    if offset is None:
        return WorkerClock(worker, rank, None, 0.0, 0, 0, None)
    return WorkerClock(
        worker,
        rank,
        offset.offset_ns + origin_ns,
        offset.drift_ppm,
        offset.collectives,
        offset.hops,
        offset.uncertainty_ns,
    )
