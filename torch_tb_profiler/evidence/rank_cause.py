"""Why one rank of a job is slow, for findings that name it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from torch_tb_profiler.analysis.ranks.causes import rank_causes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.rank_causes import clause, location_text


class WorkerCause(Struct, frozen=True):
    """Why a worker is late.

    Attributes:
        clause: To follow "because": ``"its host launches work late (12.0 ms per step against
            3.00 ms)"``; of a cause that more ranks share with where it is.
        cost_ns: How much shorter a step of the job is without it, by a replay of all ranks; None
            where they could not be replayed.
    """

    clause: str
    cost_ns: float | None


def cause_of_worker(
    traces: Mapping[str, Trace], selection: Selection, worker: str
) -> WorkerCause | None:
    """The most expensive cause that strikes a worker; None where none is known."""
    known = rank_causes(traces, selection)
    if known is None or worker not in known.job.traces:
        return None
    position = list(known.job.traces).index(worker)
    for cause in known.causes:
        if position in cause.ranks and not cause.is_open:
            shared = len(cause.ranks) > 1
            of_all = f", as on all of {location_text(cause)}" if shared else ""
            return WorkerCause(clause(cause) + of_all, cause.cost_ns if known.is_replayed else None)
    return None
