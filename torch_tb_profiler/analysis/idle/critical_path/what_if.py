"""What if some work of a step were faster: the longest path of the same graph with less weight.

Definitions: ``docs/views-critical-path.md#what-if``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.idle.critical_path.graph import longest_paths, slack_at_end
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.trace.columns import Bools, Int64

ChangeKind = Literal["halve", "remove", "overlap"]
CHANGES: tuple[ChangeKind, ...] = ("halve", "remove", "overlap")


class WhatIf(Struct, frozen=True, eq=False):
    """A hypothetical change.

    Attributes:
        nodes: Mask of the nodes that become faster.
        kind: The kind of edges that cost less too, None for none.
        way: ``halve`` their time, ``remove`` it, or ``overlap`` it with everything else.
    """

    nodes: Bools
    kind: int | None
    way: ChangeKind


def estimate_step_ns(path: CriticalPath, changes: list[WhatIf]) -> list[int]:
    """Estimated length of the step with each of the changes, ns."""
    if not changes:
        return []
    graph = path.step_graph.graph
    weight = graph.end_ns - graph.start_ns
    # Overlapped work weighs as little as removed work: both are computed once.
    keys = [(id(change.nodes), change.kind, change.way == "halve") for change in changes]
    distinct = dict(zip(keys, changes, strict=True))
    weighting_of = {key: number for number, key in enumerate(distinct)}
    finish, sums = longest_paths(
        graph, path.edge_order, [_weighting(path, each) for each in distinct.values()]
    )
    slack = slack_at_end(graph).astype(np.int64)
    times = []
    for key, change in zip(keys, changes, strict=True):
        weighting = weighting_of[key]
        ends = finish.at(graph.last, sums[weighting], weighting) + slack
        time = int(ends.max(initial=0))
        if change.way == "overlap":
            rows = np.flatnonzero(change.nodes)
            alone = _alone(finish.at(rows, sums[weighting], weighting), weight[rows])
            # What several threads do in parallel takes no longer than it does now.
            time = max(time, min(alone, graph.length_ns))
        times.append(time if len(graph.last) else graph.length_ns)
    return times


def _weighting(path: CriticalPath, change: WhatIf) -> tuple[Int64, Int64, Int64]:
    """The weights of nodes, edges in chains and edges between chains with a change."""
    graph, costs = path.step_graph.graph, path.costs
    weight = _less(graph.end_ns - graph.start_ns, change.nodes, change.way)
    if change.kind is None:
        return weight, costs.chain_lag_ns, costs.edge_lag_ns
    return (
        weight,
        _less(costs.chain_lag_ns, graph.chain_kind == change.kind, change.way),
        _less(costs.edge_lag_ns, graph.edge_kind == change.kind, change.way),
    )


def _less(cost_ns: Int64, chosen: Bools, way: ChangeKind) -> Int64:
    return np.where(chosen, cost_ns // 2 if way == "halve" else 0, cost_ns)


def _alone(ready_ns: Int64, weight_ns: Int64) -> int:
    """When pieces of work end that run one after the other, each once it is ready, undisturbed."""
    order = np.argsort(ready_ns, kind="stable")
    rest = np.cumsum(weight_ns[order][::-1])[::-1]
    return int((ready_ns[order] + rest).max(initial=0))
