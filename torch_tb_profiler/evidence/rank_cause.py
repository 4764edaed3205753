"""Why one rank of a job is slow, as a clause for findings that name it."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.ranks.causes import rank_causes
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.rank_causes import clause, location_text


def cause_of_worker(traces: Mapping[str, Trace], selection: Selection, worker: str) -> str | None:
    """The most expensive cause that strikes a worker, to follow "because": ``"its host launches
    work late (12.0 ms per step against 3.00 ms)"``; of one that more ranks share with where it is.
    None where none is known."""
    known = rank_causes(traces, selection)
    if known is None or worker not in known.job.traces:
        return None
    position = list(known.job.traces).index(worker)
    for cause in known.causes:
        if position in cause.ranks and not cause.is_open:
            shared = len(cause.ranks) > 1
            return (
                f"{clause(cause)}, as on all of {location_text(cause)}" if shared else clause(cause)
            )
    return None
