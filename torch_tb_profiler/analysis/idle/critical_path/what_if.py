"""How long a step would take if something of it were faster: the longest path of the same graph.

Definitions: ``docs/views-critical-path.md#what-if``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from torch_tb_profiler.analysis.idle.critical_path.graph import longest, slack_at_end
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.trace.columns import Bools, Int64

Way = Literal["halve", "remove", "overlap"]
WAYS: tuple[Way, ...] = ("halve", "remove", "overlap")


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What is made faster.

    Attributes:
        nodes: Mask of nodes.
        kind: The kind of edges that cost less too, None for none.
        way: ``halve`` their time, ``remove`` it, or ``overlap`` it with everything else.
    """

    nodes: Bools
    kind: int | None
    way: Way


def changed_ns(path: CriticalPath, changes: list[Change]) -> list[int]:
    """How long the step would take with each of the changes, ns."""
    if not changes:
        return []
    graph = path.of.graph
    weight = graph.end_ns - graph.start_ns
    # What is hidden weighs as little as what is removed: such ways are computed once.
    asked = [(id(change.nodes), change.kind, change.way == "halve") for change in changes]
    distinct = dict(zip(asked, changes, strict=True))
    place = {key: number for number, key in enumerate(distinct)}
    finish, sums = longest(graph, path.planned, [_way(path, each) for each in distinct.values()])
    slack = slack_at_end(graph).astype(np.int64)
    times = []
    for key, change in zip(asked, changes, strict=True):
        way = place[key]
        ends = finish.at(graph.last, sums[way], way) + slack
        time = int(ends.max(initial=0))
        if change.way == "overlap":
            rows = np.flatnonzero(change.nodes)
            alone = _alone(finish.at(rows, sums[way], way), weight[rows])
            # What several threads do beside each other takes no longer than it does now.
            time = max(time, min(alone, graph.length_ns))
        times.append(time if len(graph.last) else graph.length_ns)
    return times


def _way(path: CriticalPath, change: Change) -> tuple[Int64, Int64, Int64]:
    """What nodes, edges in chains and edges between them weigh with a change."""
    graph, tied = path.of.graph, path.tied
    weight = _less(graph.end_ns - graph.start_ns, change.nodes, change.way)
    if change.kind is None:
        return weight, tied.chain_lag_ns, tied.edge_lag_ns
    return (
        weight,
        _less(tied.chain_lag_ns, graph.chain_kind == change.kind, change.way),
        _less(tied.edge_lag_ns, graph.edge_kind == change.kind, change.way),
    )


def _less(cost_ns: Int64, chosen: Bools, way: Way) -> Int64:
    return np.where(chosen, cost_ns // 2 if way == "halve" else 0, cost_ns)


def _alone(ready_ns: Int64, weight_ns: Int64) -> int:
    """When work ends that runs one after the other, each from when it is ready, beside all else."""
    order = np.argsort(ready_ns, kind="stable")
    rest = np.cumsum(weight_ns[order][::-1])[::-1]
    return int((ready_ns[order] + rest).max(initial=0))
