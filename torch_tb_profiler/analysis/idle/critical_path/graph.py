"""Chains of work with edges between them: the longest path, and the path that the times show.

Independent of traces. Definitions: ``docs/views-critical-path.md#the-graph``.
"""

from __future__ import annotations

import itertools

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.trace.columns import Bools, Float64, Int64

SHORT_RUN = 16
"""Fewer edges are gone through one by one."""

SOURCE = -1
"""In ``edge_from``: the start of the step."""


class PathGraph(Struct, frozen=True, eq=False):
    """Nodes by chain and time, and edges between chains.

    Attributes:
        chain: Chain of each node, ascending.
        start_ns, end_ns: When it ran, from the start of the step; every node is longer than 0, and
            the nodes of a chain are disjoint and in order.
        edge_from, edge_to: Nodes of each edge; the first ends before the second starts, or is
            :data:`SOURCE`. Every first node of a chain has an edge to it.
        edge_kind: Kind of each edge.
        chain_kind: Per node the kind of the edge from the node before it in its chain.
        is_free: Per node whether that edge costs nothing where it is not the last to arrive.
        last: Nodes that the end of the step waits for.
        length_ns: Length of the step.
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


class EdgeCosts(Struct, frozen=True, eq=False):
    """What each node waited for last, and the costs of edges.

    Attributes:
        latest_edge: Per node the edge that arrived last, -1 for the node before it in its chain.
        chain_lag_ns: Per node the cost of the edge from the node before it.
        edge_lag_ns: Per edge its cost.
    """

    latest_edge: Int64
    chain_lag_ns: Int64
    edge_lag_ns: Int64


class PathWalk(Struct, frozen=True, eq=False):
    """The path from the start to the end of the step.

    Attributes:
        node: Its nodes in order of time.
        edge: Per node the edge by which the path reaches it, -1 for that of its chain.
    """

    node: Int64
    edge: Int64


def chain_starts(chain: Int64) -> Bools:
    """Which nodes are the first of their chain."""
    return np.append(True, chain[1:] != chain[:-1])[: len(chain)]


def arrival_times(graph: PathGraph) -> Int64:
    """Per edge when it arrives: the end of the node that it comes from."""
    return np.where(graph.edge_from >= 0, graph.end_ns[graph.edge_from], 0)


def edge_costs(graph: PathGraph) -> EdgeCosts:
    """What each node waited for last. That edge costs the time until the node starts, so that the
    longest path is the step; other edges cost the median of their kind, at most their own time."""
    count, first = len(graph.chain), chain_starts(graph.chain)
    arrival = arrival_times(graph)
    order = np.lexsort((arrival, graph.edge_to))
    to = graph.edge_to[order]
    is_latest = np.append(to[1:] != to[:-1], True)[: len(to)]
    latest = order[is_latest]
    last_edge = np.full(count, -1, np.int64)
    last_edge[graph.edge_to[latest]] = latest
    before = np.where(first, -1, np.append(0, graph.end_ns[:-1])[:count])
    arrived = np.where(last_edge >= 0, np.append(arrival, 0)[last_edge], -1)
    edge = np.where(arrived > before, last_edge, -1)
    chain_slack = np.where(first, 0, graph.start_ns - np.maximum(before, 0))
    edge_slack = graph.start_ns[graph.edge_to] - arrival
    tight = np.zeros(len(arrival), np.bool_)
    tight[edge[edge >= 0]] = True
    by_chain = (edge < 0) & ~first
    chain_lag = _lags(graph.chain_kind, chain_slack, by_chain)
    chain_lag = np.where(graph.is_free & ~by_chain, 0, chain_lag)
    return EdgeCosts(edge, chain_lag, _lags(graph.edge_kind, edge_slack, tight))


def _lags(kind: Int64, slack_ns: Int64, tight: Bools) -> Int64:
    """The costs of edges: all their time where they are tight, else the median of the tight ones of
    their kind, at most their time."""
    median = np.zeros(int(kind.max(initial=0)) + 1, np.int64)
    for number in distinct_values(kind[tight]).tolist():
        median[number] = int(np.median(slack_ns[tight & (kind == number)]))
    lags: Int64 = np.where(tight, slack_ns, np.minimum(slack_ns, median[kind]))
    return lags


def walk_back(graph: PathGraph, costs: EdgeCosts) -> PathWalk:
    """Walk back from the end of the step along what arrived last; empty for a graph without nodes
    that the end waits for."""
    if not len(graph.last):
        return PathWalk(np.empty(0, np.int64), np.empty(0, np.int64))
    by_edge = costs.latest_edge >= 0
    run = np.maximum.accumulate(np.where(by_edge, np.arange(len(by_edge)), -1))
    current = int(graph.last[np.argmax(graph.end_ns[graph.last])])
    runs: list[tuple[int, int]] = []
    while current >= 0:
        begin = int(run[current])
        runs.append((begin, current + 1))
        current = int(graph.edge_from[costs.latest_edge[begin]])
    node = np.concatenate([np.arange(*each) for each in reversed(runs)])
    begins = np.zeros(len(by_edge), np.bool_)
    begins[[begin for begin, _ in runs]] = True
    return PathWalk(node, np.where(begins[node], costs.latest_edge[node], -1))


class EdgeOrder(Struct, frozen=True, eq=False):
    """The order in which the edges of a graph are evaluated; the same for all weights.

    Attributes:
        targets: Nodes with edges to them, ascending.
        before: Per target the target before it in its chain, -1 for none.
        order: Edges by the start of the node they lead to.
        target: Per edge of ``order`` the index of its target.
        source: Per edge of ``order`` the last target in the chain of its first node up to that
            node, -1 for none.
        runs: Stretches of ``order``, first and behind last, without an edge that comes from a
            target of the same stretch.
    """

    targets: Int64
    before: Int64
    order: Int64
    target: Int64
    source: Int64
    runs: list[tuple[int, int]]


def order_edges(graph: PathGraph) -> EdgeOrder:
    """The order in which the longest path is computed."""
    targets = distinct_values(graph.edge_to)
    same = np.append(False, graph.chain[targets][1:] == graph.chain[targets][:-1])[: len(targets)]
    before = np.where(same, np.arange(len(targets)) - 1, -1)
    order = np.argsort(graph.start_ns[graph.edge_to], kind="stable")
    target = np.searchsorted(targets, graph.edge_to[order])
    source = last_target(graph, targets, graph.edge_from[order])
    return EdgeOrder(targets, before, order, target, source, _runs(target, source, len(targets)))


def _runs(target: Int64, source: Int64, targets: int) -> list[tuple[int, int]]:
    last_edge = np.zeros(targets + 1, np.int64)
    last_edge[target] = np.arange(len(target))
    last_edge[-1] = -1
    runs, first = [], 0
    for edge, awaited in enumerate(last_edge[source].tolist()):
        if awaited >= first:
            runs.append((first, edge))
            first = edge
    return [*runs, (first, len(target))]


def last_target(graph: PathGraph, targets: Int64, node: Int64) -> Int64:
    """Per node the last target of its chain up to it, -1 for none and for the source."""
    index = np.searchsorted(targets, node, "right") - 1
    exists = (index >= 0) & (node >= 0)
    exists &= graph.chain[targets[np.maximum(index, 0)]] == graph.chain[np.maximum(node, 0)]
    return np.where(exists, index, -1)


class FinishTimes(Struct, frozen=True, eq=False):
    """When nodes end, for several weightings of the same graph.

    Attributes:
        graph: The graph.
        edge_order: Its order of edges.
        late_ns: ``(targets + 1, weightings)``: how much later each target is than its chain alone;
            the last row is 0.
    """

    graph: PathGraph
    edge_order: EdgeOrder
    late_ns: Int64

    def at(self, node: Int64, summed_ns: Int64, weighting: int) -> Int64:
        """When nodes end with one weighting, whose sums over chains are ``summed_ns``."""
        target = last_target(self.graph, self.edge_order.targets, node)
        end: Int64 = summed_ns[node] + self.late_ns[target, weighting]
        return end


def chain_sums(first: Int64, weight_ns: Int64, chain_lag_ns: Int64) -> Int64:
    """Per node the sum of weights and costs in its chain up to it, itself included.

    Args:
        first: The first node of each chain.
        weight_ns: Weight of each node.
        chain_lag_ns: Cost of the edge from the node before it; ignored for first nodes.
    """
    costs = weight_ns + chain_lag_ns
    costs[first] = weight_ns[first]
    summed = np.cumsum(costs)
    before = summed[first] - weight_ns[first]
    sums: Int64 = summed - np.repeat(before, np.diff(np.append(first, len(summed))))
    return sums


def longest_paths(
    graph: PathGraph, edge_order: EdgeOrder, weightings: list[tuple[Int64, Int64, Int64]]
) -> tuple[FinishTimes, list[Int64]]:
    """The longest paths to all nodes, for several weightings of the graph.

    Args:
        graph: The graph.
        edge_order: Its order of edges.
        weightings: Each has the weights of nodes, the costs of edges in chains (per node), and the
            costs of edges between chains; ns.

    Returns:
        When nodes end, and per weighting the sums over chains.
    """
    cost = np.empty((len(edge_order.order), len(weightings)), np.int64)
    sums = []
    origin = graph.edge_from[edge_order.order]
    to = graph.edge_to[edge_order.order]
    first = np.flatnonzero(chain_starts(graph.chain))
    for weighting, (weight, chain_lag, edge_lag) in enumerate(weightings):
        summed = chain_sums(first, weight, chain_lag)
        sums.append(summed)
        arrived = np.where(origin >= 0, summed[origin], 0)
        cost[:, weighting] = arrived + edge_lag[edge_order.order] - (summed[to] - weight[to])
    lateness = _Lateness(graph, edge_order, cost)
    for first_edge, behind in edge_order.runs:
        if behind - first_edge < SHORT_RUN:
            lateness.raise_one_by_one(range(first_edge, behind))
        else:
            lateness.raise_at_once(slice(first_edge, behind))
    return FinishTimes(graph, edge_order, lateness.late), sums


class _Lateness:
    """How much later each target is than its chain alone, raised by edges in their order.

    Attributes:
        late: As in :class:`FinishTimes`.
    """

    def __init__(self, graph: PathGraph, edge_order: EdgeOrder, cost: Int64) -> None:
        self.late = np.zeros((len(edge_order.targets) + 1, cost.shape[1]), np.int64)
        self._order, self._cost = edge_order, cost
        self._chain = graph.chain[edge_order.targets]
        self._opened = np.zeros(len(self.late), np.bool_)

    def _before(self, target: int) -> Int64:
        """What is known of a target without the next edges."""
        known = target if self._opened[target] else self._order.before[target]
        late: Int64 = self.late[known]
        return late

    def raise_one_by_one(self, edges: range) -> None:
        """Raise the targets of a run, edge by edge."""
        late, order = self.late, self._order
        for edge in edges:
            target = int(order.target[edge])
            ready = late[order.source[edge]] + self._cost[edge]
            late[target] = np.maximum(self._before(target), ready)
            self._opened[target] = True

    def raise_at_once(self, run: slice) -> None:
        """The same at once: an edge waits for nothing of its run but what is before it in its
        chain."""
        order = self._order
        edges = run.start + np.argsort(order.target[run], kind="stable")
        target = order.target[edges]
        ready = self.late[order.source[edges]] + self._cost[edges]
        heads = np.flatnonzero(np.append(True, self._chain[target[1:]] != self._chain[target[:-1]]))
        for begin, end in itertools.pairwise([*heads.tolist(), len(target)]):
            part = ready[begin:end]
            np.maximum(part[0], self._before(int(target[begin])), out=part[0])
            self.late[target[begin:end]] = np.maximum.accumulate(part, axis=0)
        self._opened[target] = True


def slack_at_end(graph: PathGraph) -> Float64:
    """Per node of ``graph.last`` the time from its end to the end of the step where it ended last,
    else 0."""
    end = graph.end_ns[graph.last]
    rest: Float64 = np.where(end == end.max(initial=0), graph.length_ns - end, 0)
    return rest
