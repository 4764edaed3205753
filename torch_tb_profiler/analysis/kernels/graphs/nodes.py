"""Which graph each launch ran and which node each kernel is, also where no recorder wrote it.

Definitions: ``docs/views-compiled.md#graphs-and-nodes``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.kernels.graphs.launches import GraphLaunches, graph_launches
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import Trace


@dataclass(frozen=True, slots=True, eq=False)
class GraphNodes:
    """The graphs of a recording and their nodes.

    Attributes:
        graph: Per launch its graph, 0 … in order of their first launches.
        recorded: Per graph its number as recorded, -1 where that is not: then launches that ran
            kernels of the same names, each as often, are of one graph.
        node: Per row of ``GraphLaunches.row`` its node, 0 … over all graphs, by graph.
        number: Per node its number inside its graph: as recorded, else its place (from 1) in the
            first launch of the graph that ran it.
        graph_of_node: Per node its graph.
        is_numbered: Per node whether its number is the recorded one.
    """

    graph: Int64
    recorded: Int64
    node: Int64
    number: Int64
    graph_of_node: Int64
    is_numbered: Bools

    @property
    def count(self) -> int:
        """How many graphs there are."""
        return len(self.recorded)

    def label(self, graph: int) -> str:
        """A graph as people know it."""
        known = int(self.recorded[graph])
        return str(known) if known >= 0 else f"#{graph + 1}"


@per_trace
def graph_nodes(trace: Trace) -> GraphNodes:
    """The graphs and nodes of a trace.

    A node without a recorded number is told by the name of its kernel and how many of that name its
    launch ran before it, so that kernels of several streams, which swap places, stay apart.
    """
    launches = graph_launches(trace)
    names = trace.device_work["name_code"].to_numpy()[launches.row].astype(np.int64)
    alike = _alike(launches, names)
    known = launches.graph
    _, graph = dense_pair_ids(known, np.where(known >= 0, -1, alike))
    graph = _in_order(graph)
    of_row = graph[launches.launch]
    occurrence = _occurrence(launches.launch, names)
    is_numbered = launches.node >= 0
    _, told = dense_pair_ids(names, np.where(is_numbered, -1, occurrence))
    key = np.where(is_numbered, launches.node, -1 - told)
    example, node = dense_pair_ids(of_row, key)
    place = np.arange(len(launches.row)) - launches.first[launches.launch] + 1
    number = np.where(is_numbered[example], launches.node[example], place[example])
    recorded = np.full(int(graph.max(initial=-1)) + 1, -1)
    recorded[graph] = known
    return GraphNodes(graph, recorded, node, number, of_row[example], is_numbered[example])


def _alike(launches: GraphLaunches, names: Int64) -> Int64:
    """Per launch a number that is the same for launches of the same kernels, in any order."""
    if not launches.count:
        return np.empty(0, np.int64)
    mixed = names.astype(np.uint64) + np.uint64(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    sums = np.add.reduceat(mixed, launches.first[:-1])
    _, alike = dense_pair_ids(sums.view(np.int64), np.diff(launches.first))
    return alike


def _in_order(numbers: Int64) -> Int64:
    """The same numbering, in order of first appearance."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _occurrence(launch: Int64, names: Int64) -> Int64:
    """Per row how many rows of its launch before it have its name."""
    _, pair = dense_pair_ids(launch, names)
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    occurrence = np.empty(len(order), np.int64)
    occurrence[order] = within
    return occurrence
