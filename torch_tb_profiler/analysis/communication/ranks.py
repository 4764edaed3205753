"""The order of the workers of a run: by the ranks that their recordings declare."""

from __future__ import annotations

from collections.abc import Mapping

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.trace.model import Trace


def in_rank_order(traces: Mapping[str, Trace]) -> dict[str, Trace]:
    """The workers by rank. Where one does not declare its rank, or two declare the same (nodes that
    count for themselves), in the order they were found in: that of their names, with numbers as
    numbers."""
    ranks = {worker: own_rank(trace) for worker, trace in traces.items()}
    if None in ranks.values() or len(set(ranks.values())) < len(ranks):
        return dict(traces)
    return {worker: traces[worker] for worker in sorted(traces, key=lambda name: ranks[name] or 0)}
