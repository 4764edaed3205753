"""The critical path of a step as pieces of time, and what is kept of it.

Definitions: ``docs/views-critical-path.md``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.analysis.idle.critical_path.build import StepBounds, StepGraph, step_graph
from torch_tb_profiler.analysis.idle.critical_path.graph import Plan, Ties, Walk, plan, ties, walk
from torch_tb_profiler.analysis.idle.critical_path.parts import Part
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

KEPT_STEPS = 8
"""Steps whose graphs are kept with a trace."""


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The pieces of a path, in order of time; they are disjoint and together the step.

    Attributes:
        start_ns, end_ns: Times of the trace.
        part: What each is (:class:`Part`).
        node: Node of the graph: what runs, or, of what lies between two, the second.
        is_between: Whether it lies before its node.
    """

    start_ns: Int64
    end_ns: Int64
    part: Int64
    node: Int64
    is_between: Int64


@dataclass(frozen=True, slots=True, eq=False)
class CriticalPath:
    """The critical path of one step.

    Attributes:
        step: The step.
        of: Its graph.
        tied: What each node waited for.
        planned: The order in which its longest path is computed.
        pieces: The path.
    """

    step: StepBounds
    of: StepGraph
    tied: Ties
    planned: Plan
    pieces: Pieces


class _Kept:
    """The paths of a few steps, those last asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.paths: OrderedDict[StepBounds, CriticalPath] = OrderedDict()


@per_split
def _kept(_trace: Trace) -> _Kept:
    return _Kept()


def critical_path(trace: Trace, step: StepBounds) -> CriticalPath:
    """The critical path of a step; the last :data:`KEPT_STEPS` are kept."""
    kept = _kept(trace)
    with kept.lock:
        found = kept.paths.get(step)
        if found is None:
            found = _computed(trace, step)
            kept.paths[step] = found
            while len(kept.paths) > KEPT_STEPS:
                kept.paths.popitem(last=False)
        kept.paths.move_to_end(step)
    return found


def _computed(trace: Trace, step: StepBounds) -> CriticalPath:
    of = step_graph(trace, step)
    tied = ties(of.graph)
    pieces = pieces_of(of, walk(of.graph, tied))
    return CriticalPath(step, of, tied, plan(of.graph), pieces)


def pieces_of(of: StepGraph, path: Walk) -> Pieces:
    """The pieces of a walk through the graph: its nodes, and what lies between them."""
    graph, node = of.graph, path.node
    start, end = graph.start_ns[node], graph.end_ns[node]
    before = np.append(0, end[:-1])[: len(node)]
    by_edge = np.append(graph.edge_kind, 0)[path.edge]
    between = np.where(path.edge >= 0, by_edge, graph.chain_kind[node])
    starts = np.stack((before, start), axis=1).ravel()
    ends = np.stack((start, end), axis=1).ravel()
    parts = np.stack((between, of.part[node]), axis=1).ravel()
    nodes = np.repeat(node, 2)
    is_between = np.tile(np.array([1, 0]), len(node))
    last = int(end[-1]) if len(node) else 0
    starts, ends = np.append(starts, last), np.append(ends, graph.length_ns)
    parts = np.append(parts, Part.UNKNOWN)
    nodes = np.append(nodes, node[-1] if len(node) else -1)
    is_between = np.append(is_between, 1)
    filled = ends > starts
    return Pieces(
        starts[filled] + of.start_ns,
        ends[filled] + of.start_ns,
        parts[filled],
        nodes[filled],
        is_between[filled],
    )
