"""The longest path of graphs of chains, against one that follows every path."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.helpers.examples import examples
from torch_tb_profiler.analysis.idle.critical_path import graph as module
from torch_tb_profiler.analysis.idle.critical_path.graph import (
    SOURCE,
    EdgeCosts,
    PathGraph,
    arrival_times,
    chain_starts,
    edge_costs,
    longest_paths,
    order_edges,
    walk_back,
)


@st.composite
def graphs(draw: st.DrawFn) -> PathGraph:
    """Up to four chains with edges from earlier nodes to later ones."""
    chain: list[int] = []
    start: list[int] = []
    end: list[int] = []
    for number in range(draw(st.integers(1, 4))):
        now = draw(st.integers(0, 10))
        for _ in range(draw(st.integers(1, 6))):
            length = draw(st.integers(1, 8))
            chain.append(number)
            start.append(now)
            end.append(now + length)
            now += length + draw(st.sampled_from([0, 0, 1, 5]))
    pairs = [
        (a, b) for a in range(len(chain)) for b in range(len(chain))
        if chain[a] != chain[b] and end[a] <= start[b]
    ]  # fmt: skip
    edges = draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    first = np.flatnonzero(chain_starts(np.array(chain)))
    edges += [(SOURCE, int(node)) for node in first]
    kinds = draw(st.lists(st.integers(0, 2), min_size=len(edges), max_size=len(edges)))
    return PathGraph(
        np.array(chain),
        np.array(start),
        np.array(end),
        np.array([a for a, _ in edges]),
        np.array([b for _, b in edges]),
        np.array(kinds),
        np.array(chain) % 3,
        np.array(chain) % 2 == 0,
        np.arange(len(chain)),
        max(end) + draw(st.integers(0, 3)),
    )


def every_path(graph: PathGraph, weight: list[int], costs: EdgeCosts) -> int:
    """The longest of all paths to a last node, each followed by itself."""
    into: dict[int, list[tuple[int, int]]] = {node: [] for node in range(len(graph.chain))}
    for node in range(1, len(graph.chain)):
        if graph.chain[node] == graph.chain[node - 1]:
            into[node].append((node - 1, int(costs.chain_lag_ns[node])))
    for edge, (a, b) in enumerate(zip(graph.edge_from, graph.edge_to, strict=True)):
        into[int(b)].append((int(a), int(costs.edge_lag_ns[edge])))

    @cache
    def finish(node: int) -> int:
        if node == SOURCE:
            return 0
        return weight[node] + max((finish(a) + lag for a, lag in into[node]), default=0)

    return max(finish(int(node)) for node in graph.last)


@examples(150)
@given(graphs(), st.data())
def test_the_longest_path_is_that_of_all_paths(graph: PathGraph, data: st.DataObject) -> None:
    costs = edge_costs(graph)
    count = len(graph.chain)
    weights = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    lengths = (graph.end_ns - graph.start_ns).tolist()
    lags = costs.chain_lag_ns, costs.edge_lag_ns
    weightings = [(np.array(weights), *lags), (np.array(lengths), *lags)]
    edge_order = order_edges(graph)
    with patch.object(module, "SHORT_RUN", data.draw(st.sampled_from((1, 4, 100)))):
        paths, sums = longest_paths(graph, edge_order, weightings)
    for weighting, weight in enumerate((weights, lengths)):
        ends = paths.at(graph.last, sums[weighting], weighting)
        assert ends.max() == every_path(graph, weight, costs)
        # One weighting among others is the same as alone.
        alone, own = longest_paths(graph, edge_order, [weightings[weighting]])
        assert (alone.at(graph.last, own[0], 0) == ends).all()


@examples(150)
@given(graphs())
def test_with_its_own_times_every_node_ends_when_it_did(graph: PathGraph) -> None:
    costs = edge_costs(graph)
    weight = graph.end_ns - graph.start_ns
    paths, sums = longest_paths(
        graph, order_edges(graph), [(weight, costs.chain_lag_ns, costs.edge_lag_ns)]
    )
    assert (paths.at(np.arange(len(weight)), sums[0], 0) == graph.end_ns).all()


@examples(150)
@given(graphs())
def test_the_walk_follows_what_arrived_last(graph: PathGraph) -> None:
    costs = edge_costs(graph)
    path = walk_back(graph, costs)
    at = arrival_times(graph)
    for index, node in enumerate(path.node.tolist()):
        into = [int(at[edge]) for edge in np.flatnonzero(graph.edge_to == node)]
        if node and graph.chain[node] == graph.chain[node - 1]:
            into.append(int(graph.end_ns[node - 1]))
        before = int(graph.end_ns[path.node[index - 1]]) if index else 0
        assert before == max(into) <= graph.start_ns[node]
    assert graph.end_ns[path.node[-1]] == graph.end_ns[graph.last].max()


def test_a_graph_without_an_end_has_no_path() -> None:
    none = np.empty(0, np.int64)
    graph = PathGraph(
        np.array([0]), np.array([0]), np.array([5]), np.array([SOURCE]), np.array([0]),
        np.array([0]), np.array([0]), np.array([True]), none, 5,
    )  # fmt: skip
    assert not len(walk_back(graph, edge_costs(graph)).node)
    assert walk_back(replace(graph, last=np.array([0])), edge_costs(graph)).node.tolist() == [0]
