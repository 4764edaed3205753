"""Clock offsets that align the timelines of other workers with the timeline of one."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from torch_tb_profiler.analysis.communication.clocks import clock_offsets
from torch_tb_profiler.analysis.communication.metadata import in_rank_order
from torch_tb_profiler.trace.model import Trace


class WorkerClock(Struct, frozen=True):
    """Clock offset of a worker's timeline; null if unknown.

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
    offsets = clock_offsets(traces, reference)
    clocks = []
    for worker, trace in in_rank_order(traces).items():
        if worker == reference:
            clocks.append(WorkerClock(worker, 0, offsets.get(worker, (0, 0))[1]))
        elif worker in offsets:
            ns, count = offsets[worker]
            origins = trace.meta.start_ns - traces[reference].meta.start_ns
            clocks.append(WorkerClock(worker, ns + origins, count))
        else:
            clocks.append(WorkerClock(worker, None, 0))
    return clocks
