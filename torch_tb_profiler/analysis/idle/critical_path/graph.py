"""Work in chains with edges between them: its longest path, and the path that its times tell.

Knows nothing of traces. Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.trace.columns import Bools, Float64, Int64

SOURCE = -1
"""In ``edge_from``: the start of the step."""


@dataclass(frozen=True, slots=True, eq=False)
class PathGraph:
    """Nodes by chain and time, and edges between chains.

    Attributes:
        chain: Chain of each node, ascending.
        start_ns, end_ns: When it ran, from the start of the step; every node is longer than 0, and
            the nodes of a chain are disjoint and in order.
        edge_from, edge_to: Nodes of each edge; the first ends before the second starts, or is
            :data:`SOURCE`. Every first node of a chain has an edge to it.
        edge_kind: Number of what kind an edge is.
        chain_kind: Per node what kind of edge the one from the node before it in its chain is.
        is_free: Per node whether that edge costs nothing where it is not the last to arrive.
        last: Nodes that the end of the step waits for.
        length_ns: How long the step took.
    """

    chain: Int64
    start_ns: Int64
    end_ns: Int64
    edge_from: Int64
    edge_to: Int64
    edge_kind: Int64
    chain_kind: Int64
    is_free: Bools
    last: Int64
    length_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class Ties:
    """What each node waited for last, and what edges cost.

    Attributes:
        edge: Per node the edge that arrived last, -1 for the node before it in its chain.
        chain_lag_ns: Per node what the edge from the node before it costs.
        edge_lag_ns: Per edge what it costs.
    """

    edge: Int64
    chain_lag_ns: Int64
    edge_lag_ns: Int64


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The path backwards from the end of the step, turned round.

    Attributes:
        node: Its nodes in order of time.
        edge: Per node the edge by which the path comes to it, -1 for that of its chain.
    """

    node: Int64
    edge: Int64


def heads(chain: Int64) -> Bools:
    """Which nodes are the first of their chain."""
    return np.append(True, chain[1:] != chain[:-1])[: len(chain)]


def arrivals(graph: PathGraph) -> Int64:
    """Per edge when it arrives: the end of the node that it comes from."""
    return np.where(graph.edge_from >= 0, graph.end_ns[graph.edge_from], 0)


def ties(graph: PathGraph) -> Ties:
    """What each node waited for last. That edge costs the time until the node starts, so the
    longest path is the step; others cost what is usual for their kind, at most what there was."""
    count, first = len(graph.chain), heads(graph.chain)
    arrival = arrivals(graph)
    order = np.lexsort((arrival, graph.edge_to))
    to = graph.edge_to[order]
    is_latest = np.append(to[1:] != to[:-1], True)[: len(to)]
    latest = order[is_latest]
    best = np.full(count, -1, np.int64)
    best[graph.edge_to[latest]] = latest
    before = np.where(first, -1, np.append(0, graph.end_ns[:-1])[:count])
    arrived = np.where(best >= 0, np.append(arrival, 0)[best], -1)
    edge = np.where(arrived > before, best, -1)
    chain_slack = np.where(first, 0, graph.start_ns - np.maximum(before, 0))
    edge_slack = graph.start_ns[graph.edge_to] - arrival
    tight = np.zeros(len(arrival), np.bool_)
    tight[edge[edge >= 0]] = True
    by_chain = (edge < 0) & ~first
    chain_lag = _lags(graph.chain_kind, chain_slack, by_chain)
    chain_lag = np.where(graph.is_free & ~by_chain, 0, chain_lag)
    return Ties(edge, chain_lag, _lags(graph.edge_kind, edge_slack, tight))


def _lags(kind: Int64, slack_ns: Int64, tight: Bools) -> Int64:
    """What edges cost: all their time where they are tight, else the median of the tight ones of
    their kind, at most their time."""
    usual = np.zeros(int(kind.max(initial=0)) + 1, np.int64)
    for number in np.unique(kind[tight]).tolist():
        usual[number] = int(np.median(slack_ns[tight & (kind == number)]))
    lags: Int64 = np.where(tight, slack_ns, np.minimum(slack_ns, usual[kind]))
    return lags


def walk(graph: PathGraph, tied: Ties) -> Walk:
    """The path of what arrived last, from the end of the step to its start; empty of a graph
    without nodes that the end waits for."""
    if not len(graph.last):
        return Walk(np.empty(0, np.int64), np.empty(0, np.int64))
    by_edge = tied.edge >= 0
    run = np.maximum.accumulate(np.where(by_edge, np.arange(len(by_edge)), -1))
    here = int(graph.last[np.argmax(graph.end_ns[graph.last])])
    runs: list[tuple[int, int]] = []
    while here >= 0:
        begin = int(run[here])
        runs.append((begin, here + 1))
        here = int(graph.edge_from[tied.edge[begin]])
    node = np.concatenate([np.arange(*each) for each in reversed(runs)])
    begins = np.zeros(len(by_edge), np.bool_)
    begins[[begin for begin, _ in runs]] = True
    return Walk(node, np.where(begins[node], tied.edge[node], -1))


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """In which order the edges of a graph are looked at; the same for all weights.

    Attributes:
        targets: Nodes with edges to them, ascending.
        before: Per target the target before it in its chain, -1 for none.
        order: Edges by the start of the node they lead to.
        slot: Per edge of ``order`` the target it leads to.
        source: Per edge of ``order`` the last target in the chain of its first node up to that
            node, -1 for none.
    """

    targets: Int64
    before: Int64
    order: Int64
    slot: Int64
    source: Int64


def plan(graph: PathGraph) -> Plan:
    """The order in which the longest path is computed."""
    targets = np.unique(graph.edge_to)
    same = np.append(False, graph.chain[targets][1:] == graph.chain[targets][:-1])[: len(targets)]
    before = np.where(same, np.arange(len(targets)) - 1, -1)
    order = np.argsort(graph.start_ns[graph.edge_to], kind="stable")
    slot = np.searchsorted(targets, graph.edge_to[order])
    return Plan(targets, before, order, slot, last_target(graph, targets, graph.edge_from[order]))


def last_target(graph: PathGraph, targets: Int64, node: Int64) -> Int64:
    """Per node the last target of its chain up to it, -1 for none and for the source."""
    place = np.searchsorted(targets, node, "right") - 1
    there = (place >= 0) & (node >= 0)
    there &= graph.chain[targets[np.maximum(place, 0)]] == graph.chain[np.maximum(node, 0)]
    return np.where(there, place, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Finish:
    """When nodes end, of some ways to weigh the same graph.

    Attributes:
        graph: The graph.
        planned: Its plan.
        late_ns: ``(targets + 1, ways)``: how much later than its chain alone each target is; the
            last row is 0.
    """

    graph: PathGraph
    planned: Plan
    late_ns: Int64

    def at(self, node: Int64, summed_ns: Int64, way: int) -> Int64:
        """When nodes end in one way, of which ``summed_ns`` are the sums over chains."""
        place = last_target(self.graph, self.planned.targets, node)
        end: Int64 = summed_ns[node] + self.late_ns[place, way]
        return end


def chain_sums(first: Int64, weight_ns: Int64, chain_lag_ns: Int64) -> Int64:
    """Per node the sum of weights and costs in its chain up to it, itself included.

    Args:
        first: The first node of each chain.
        weight_ns: What each node weighs.
        chain_lag_ns: What the edge from the node before it costs; of first nodes nothing.
    """
    costs = weight_ns + chain_lag_ns
    costs[first] = weight_ns[first]
    summed = np.cumsum(costs)
    before = summed[first] - weight_ns[first]
    sums: Int64 = summed - np.repeat(before, np.diff(np.append(first, len(summed))))
    return sums


def longest(
    graph: PathGraph, planned: Plan, ways: list[tuple[Int64, Int64, Int64]]
) -> tuple[Finish, list[Int64]]:
    """The longest paths to all nodes, of several ways to weigh the graph.

    Args:
        graph: The graph.
        planned: Its plan.
        ways: Of each the weights of nodes, what edges in chains cost (per node), and what edges
            between chains cost; ns.

    Returns:
        When nodes end, and per way the sums over chains.
    """
    cost = np.empty((len(planned.order), len(ways)), np.int64)
    sums = []
    origin = graph.edge_from[planned.order]
    target = graph.edge_to[planned.order]
    first = np.flatnonzero(heads(graph.chain))
    for way, (weight, chain_lag, edge_lag) in enumerate(ways):
        summed = chain_sums(first, weight, chain_lag)
        sums.append(summed)
        came = np.where(origin >= 0, summed[origin], 0)
        cost[:, way] = came + edge_lag[planned.order] - (summed[target] - weight[target])
    late = np.zeros((len(planned.targets) + 1, len(ways)), np.int64)
    opened = np.zeros(len(late), np.bool_)
    before = planned.before.tolist()
    for place, source, row in zip(
        planned.slot.tolist(), planned.source.tolist(), cost, strict=True
    ):
        if not opened[place]:
            opened[place] = True
            late[place] = late[before[place]]
        np.maximum(late[place], late[source] + row, out=late[place])
    return Finish(graph, planned, late), sums


def slack_at_end(graph: PathGraph) -> Float64:
    """Per node of ``graph.last`` what lies between it and the end of the step where it ended last,
    else 0."""
    end = graph.end_ns[graph.last]
    rest: Float64 = np.where(end == end.max(initial=0), graph.length_ns - end, 0)
    return rest
