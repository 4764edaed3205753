"""The critical path of a step as pieces of time.

Definitions: ``docs/views-critical-path.md``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.idle.critical_path.graph import (
    EdgeCosts,
    EdgeOrder,
    PathWalk,
    edge_costs,
    order_edges,
    walk_back,
)
from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.analysis.idle.critical_path.step_graph import (
    StepBounds,
    StepGraph,
    step_graph,
)
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

MAX_CACHED_STEPS = 8
"""Steps whose paths are cached with a trace."""


class PathPieces(Struct, frozen=True, eq=False):
    """The pieces of a path, in order of time; they are disjoint and cover the step.

    Attributes:
        start_ns, end_ns: Times of the trace.
        part: What each is (:class:`PathPart`).
        node: Node of the graph that runs; for a piece between two nodes, the second.
        is_between: Whether the piece is the time before its node.
    """

    start_ns: Int64
    end_ns: Int64
    part: Int64
    node: Int64
    is_between: Int64


class CriticalPath(Struct, frozen=True, eq=False):
    """The critical path of one step.

    Attributes:
        step: The step.
        step_graph: Its graph.
        costs: What each node waited for last, and the costs of edges.
        edge_order: The order in which its longest path is computed.
        pieces: The path.
    """

    step: StepBounds
    step_graph: StepGraph
    costs: EdgeCosts
    edge_order: EdgeOrder
    pieces: PathPieces


class _PathCache:
    """The paths of the steps used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paths: OrderedDict[StepBounds, CriticalPath] = OrderedDict()


@per_split
def _path_cache(_trace: Trace) -> _PathCache:
    return _PathCache()


def critical_path(trace: Trace, step: StepBounds) -> CriticalPath:
    """The critical path of a step; the last :data:`MAX_CACHED_STEPS` are cached."""
    cache = _path_cache(trace)
    with cache.lock:
        path = cache.paths.get(step)
        if path is None:
            path = cache.paths[step] = _compute(trace, step)
            while len(cache.paths) > MAX_CACHED_STEPS:
                cache.paths.popitem(last=False)
        cache.paths.move_to_end(step)
    return path


def _compute(trace: Trace, step: StepBounds) -> CriticalPath:
    nodes = step_graph(trace, step)
    costs = edge_costs(nodes.graph)
    pieces = _pieces(nodes, walk_back(nodes.graph, costs))
    return CriticalPath(step, nodes, costs, order_edges(nodes.graph), pieces)


def _pieces(nodes: StepGraph, path: PathWalk) -> PathPieces:
    """The pieces of a walk through the graph: its nodes, and the time between them."""
    graph, node = nodes.graph, path.node
    start, end = graph.start_ns[node], graph.end_ns[node]
    before = np.append(0, end[:-1])[: len(node)]
    by_edge = np.append(graph.edge_kind, 0)[path.edge]
    between = np.where(path.edge >= 0, by_edge, graph.chain_kind[node])
    starts = np.stack((before, start), axis=1).ravel()
    ends = np.stack((start, end), axis=1).ravel()
    parts = np.stack((between, nodes.part[node]), axis=1).ravel()
    node_of_piece = np.repeat(node, 2)
    is_between = np.tile(np.array([1, 0]), len(node))
    last = int(end[-1]) if len(node) else 0
    starts, ends = np.append(starts, last), np.append(ends, graph.length_ns)
    parts = np.append(parts, PathPart.UNKNOWN)
    node_of_piece = np.append(node_of_piece, node[-1] if len(node) else -1)
    is_between = np.append(is_between, 1)
    filled = ends > starts
    return PathPieces(
        starts[filled] + nodes.start_ns,
        ends[filled] + nodes.start_ns,
        parts[filled],
        node_of_piece[filled],
        is_between[filled],
    )
