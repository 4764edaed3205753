"""The launches of graphs, and the device work of each.

Definitions: ``docs/views-compiled.md#graph-launches``.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import Trace

GRAPH_LAUNCH = re.compile(r"(cuda|hip|cu)GraphLaunch(_|$)")
"""Calls of CUDA's and HIP's runtime and driver that launch a graph; the name may have a version
suffix (``cudaGraphLaunch_v10000``)."""

WHOLE_GRAPH = "cuda_graph"
"""The raw category, set by its importer, of a graph whose kernels were not recorded."""

NODE_BITS = 32
"""CUDA's tools number nodes as (graph << 32) | node; older recorders write this as the node."""


class GraphLaunches(Struct, frozen=True, eq=False):
    """Launches in order of the start of their first device work, and that work.

    Attributes:
        row: Rows of ``trace.device_work`` that graphs ran, by launch, then by start.
        first: Per launch the index of its first work in ``row``, and one more for the end.
        slice: Per launch the slice of the call, -1 where it is not in the recording.
        graph: Per launch the recorded number of its graph, -1 where unknown.
        node: Per row of ``row`` the recorded number of its node in the graph, -1 where unknown.
        is_whole: Per launch whether only the graph as a whole was recorded, without its kernels.
        without_work: Slices of graph launch calls without any work in the recording.
    """

    row: Int64
    first: Int64
    slice: Int64
    graph: Int64
    node: Int64
    is_whole: Bools
    without_work: Int64

    @property
    def count(self) -> int:
        """How many launches there are."""
        return len(self.slice)

    @property
    def launch(self) -> Int64:
        """Per row of ``row`` its launch."""
        return np.repeat(np.arange(self.count), np.diff(self.first))


@per_trace
def graph_launches(trace: Trace) -> GraphLaunches:
    """The launches of graphs of a trace.

    Work belongs to a graph where its launch is a graph launch call, or where it has a node. Work
    that shares a launch call, or where that is not in the recording a correlation id and device, is
    one launch; work with neither is left out.
    """
    work = trace.device_work
    slices = work["slice"].to_numpy()
    launch, node = indices(work["launch"]), indices(work["graph_node"])
    graph = indices(work["graph"])
    is_wide = node >= 1 << NODE_BITS
    graph = np.where(is_wide, node >> NODE_BITS, np.where(graph > 0, graph, -1))
    node = np.where(is_wide, node & ((1 << NODE_BITS) - 1), node)
    is_whole = _whole_graphs(trace, slices)
    is_call = _graph_calls(trace)
    in_graph = np.append(is_call, False)[launch] | (node > 0) | is_whole
    rows = np.flatnonzero(in_graph & ((launch >= 0) | (_correlations(trace, slices) > 0)))
    rows, bounds = _group_by_launch(trace, rows, launch)
    heads = rows[bounds[:-1]]
    calls = np.flatnonzero(is_call)
    return GraphLaunches(
        row=rows,
        first=bounds,
        slice=launch[heads],
        graph=_group_maximum(graph[rows], bounds),
        node=np.where(node[rows] > 0, node[rows], -1),
        is_whole=is_whole[heads],
        without_work=_without_work(trace, calls, launch[heads]),
    )


def _correlations(trace: Trace, slices: Int64) -> Int64:
    return indices(trace.slices["correlation"])[slices]


def _graph_calls(trace: Trace) -> Bools:
    """Per slice whether it is a call that launches a graph."""
    category = trace.slices["category"].to_numpy()
    calls = np.flatnonzero(category == Category.RUNTIME)
    names = trace.slices["name_code"].to_numpy()[calls]
    is_call = np.zeros(len(category), np.bool_)
    is_call[calls] = codes.names_match(
        trace, names, lambda name: GRAPH_LAUNCH.match(name) is not None
    )
    return is_call


def _whole_graphs(trace: Trace, slices: Int64) -> Bools:
    """Per piece of device work whether it is a graph without its kernels."""
    code = np.flatnonzero(trace.strings == WHOLE_GRAPH)
    category = indices(trace.slices["raw_category_code"])[slices]
    is_whole: Bools = np.isin(category, code)
    return is_whole


def _group_by_launch(trace: Trace, rows: Int64, launch: Int64) -> tuple[Int64, Int64]:
    """The rows by launch and start, launches by their first start; and the first row of each."""
    if not len(rows):
        return rows, np.zeros(1, np.int64)
    work = trace.device_work
    start_ns = work["start_ns"].to_numpy()[rows]
    has_launch = launch[rows] >= 0
    correlation = _correlations(trace, work["slice"].to_numpy()[rows])
    _, group = dense_pair_ids(
        np.where(has_launch, launch[rows], -1 - correlation),
        np.where(has_launch, -1, indices(work["device"])[rows]),
    )
    begin = np.full(int(group.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(begin, group, start_ns)
    order = np.lexsort((rows, start_ns, group, begin[group]))
    changes = np.flatnonzero(np.diff(group[order], prepend=-1))
    return rows[order], np.append(changes, len(rows))


def _group_maximum(values: Int64, bounds: Int64) -> Int64:
    """Per group its largest value, -1 where none is known."""
    if len(bounds) < 2:
        return np.empty(0, np.int64)
    return np.maximum(np.maximum.reduceat(values, bounds[:-1]), -1)


def _without_work(trace: Trace, calls: Int64, launches: Int64) -> Int64:
    """The calls without recorded work; a call inside another one shares its correlation id."""
    correlation = indices(trace.slices["correlation"])
    with_work = correlation[launches[launches >= 0]]
    return calls[~np.isin(calls, launches) & ~np.isin(correlation[calls], with_work)]
