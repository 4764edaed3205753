"""The graph of each launch and the node of each kernel, inferred where they are not recorded.

Definitions: ``docs/views-compiled.md#graphs-and-nodes``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.kernels.graphs.launches import GraphLaunches, graph_launches
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import Trace


class GraphNodes(Struct, frozen=True, eq=False):
    """The graphs of a recording and their nodes.

    Attributes:
        graph: Per launch its graph, 0 … in order of their first launches.
        recorded: Per graph its recorded number, -1 where unknown: then launches of the same
            kernels, each as often, are of one graph.
        node: Per row of ``GraphLaunches.row`` its node, 0 … over all graphs, by graph.
        number: Per node its number inside its graph: as recorded, else its position (from 1) in the
            first launch of the graph that ran it.
        graph_of_node: Per node its graph.
        has_recorded_number: Per node whether its number is the recorded one.
    """

    graph: Int64
    recorded: Int64
    node: Int64
    number: Int64
    graph_of_node: Int64
    has_recorded_number: Bools

    @property
    def count(self) -> int:
        """How many graphs there are."""
        return len(self.recorded)

    def label(self, graph: int) -> str:
        """The displayed number of a graph."""
        known = int(self.recorded[graph])
        return str(known) if known >= 0 else f"#{graph + 1}"


@per_trace
def graph_nodes(trace: Trace) -> GraphNodes:
    """The graphs and nodes of a trace.

    A node without a recorded number is identified by the name of its kernel and how many of that
    name its launch ran before it, so that kernels of several streams whose order varies stay apart.
    """
    launches = graph_launches(trace)
    names = trace.device_work["name_code"].to_numpy()[launches.row].astype(np.int64)
    same_kernels = _kernel_set_ids(launches, names)
    known = launches.graph
    _, graph = dense_pair_ids(known, np.where(known >= 0, -1, same_kernels))
    graph = _renumber_by_first(graph)
    graph_of_row = graph[launches.launch]
    occurrence = _occurrence(launches.launch, names)
    has_recorded_number = launches.node >= 0
    _, inferred = dense_pair_ids(names, np.where(has_recorded_number, -1, occurrence))
    key = np.where(has_recorded_number, launches.node, -1 - inferred)
    example, node = dense_pair_ids(graph_of_row, key)
    position = np.arange(len(launches.row)) - launches.first[launches.launch] + 1
    number = np.where(has_recorded_number[example], launches.node[example], position[example])
    recorded = np.full(int(graph.max(initial=-1)) + 1, -1)
    recorded[graph] = known
    return GraphNodes(
        graph, recorded, node, number, graph_of_row[example], has_recorded_number[example]
    )


def _kernel_set_ids(launches: GraphLaunches, names: Int64) -> Int64:
    """Per launch an id that is equal for launches of the same kernels, in any order."""
    if not launches.count:
        return np.empty(0, np.int64)
    mixed = names.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    sums = np.add.reduceat(mixed, launches.first[:-1])
    _, ids = dense_pair_ids(sums.view(np.int64), np.diff(launches.first))
    return ids


def _renumber_by_first(ids: Int64) -> Int64:
    """The same groups with dense ids in order of first appearance."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _occurrence(launch: Int64, names: Int64) -> Int64:
    """Per row how many earlier rows of its launch have the same name."""
    _, pair = dense_pair_ids(launch, names)
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    occurrence = np.empty(len(order), np.int64)
    occurrence[order] = within
    return occurrence
