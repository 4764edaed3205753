"""Kernels of replayed CUDA graphs belong to what was open when their node was made.

A kernel of a replay names its node. Instantiating and cloning a graph make new nodes that name the
one they were made from, so a chain leads to the node that the program made, at a time, on a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.parts import Part
from torch_tb_profiler.importers.nsys.places import innermost_open
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64
from torch_tb_profiler.trace.lookup import number_pairs, place_in
from torch_tb_profiler.trace.quality import QualityReport

TABLES = ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")
"""Where nodes are told, the newer layout first: the older table holds other things there."""

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)


@dataclass(frozen=True, slots=True, eq=False)
class GraphNodes:
    """Rows about nodes; all aligned.

    Attributes:
        process: Process of each, inside which nodes are numbered.
        number: Of the node.
        original: Number of the node it was made from; absent, 0 or its own where there is none.
        start_ns: When that was.
        global_tid: On which thread.
    """

    process: Int64
    number: Int64
    original: Int64
    start_ns: Int64
    global_tid: Int64

    def __len__(self) -> int:
        return len(self.number)


def owners(
    database: Database,
    tracks: Tracks,
    ranges: Part,
    global_pids: Int64,
    graph_nodes: Int64,
    *,
    quality: QualityReport,
) -> Int64:
    """Per piece of device work the row, among the slices of ``ranges``, of the innermost operator,
    or where there is none of the innermost range, that was open when its graph node was made;
    :data:`ABSENT` for none.

    Args:
        database: The export.
        tracks: The tracks of the ranges.
        ranges: What was read of the ranges.
        global_pids: Process of each piece.
        graph_nodes: ``graphNodeId`` of each, or :data:`ABSENT`.
        quality: Is told of nodes that are not in the export, and of what was found.
    """
    owner = np.full(len(graph_nodes), ABSENT)
    work = np.flatnonzero((graph_nodes != ABSENT) & (graph_nodes != 0))
    nodes = _nodes(database) if len(work) else None
    if nodes is None:
        return owner
    made = creations(nodes, global_pids[work], graph_nodes[work])
    quality.add("graph_node_unknown", int((made < 0).sum()))
    known = made >= 0
    is_used = np.zeros(len(nodes), np.bool_)  # of millions of kernels there are few nodes
    is_used[made[known]] = True
    track = tracks.of_threads(nodes.global_tid[is_used])
    found = _open_at(ranges, track.astype(np.int64), nodes.start_ns[is_used])
    found = found[(np.cumsum(is_used) - 1)[made[known]]]
    owner[work[known]] = np.where(found >= 0, found, ABSENT)
    quality.add("graph_kernels_at_creation", int((found >= 0).sum()))
    return owner


def _nodes(database: Database) -> GraphNodes | None:
    """The nodes an export tells of, None where it has no table of them."""
    table = next((name for name in TABLES if "graphNodeId" in database.tables.get(name, ())), None)
    if table is None:
        return None
    told = database.ints(table, ["start", "globalTid", "graphNodeId", "originalGraphNodeId"])
    rows = np.flatnonzero((told["graphNodeId"] != ABSENT) & (told["globalTid"] != ABSENT))
    return GraphNodes(
        global_pid(told["globalTid"][rows]),
        told["graphNodeId"][rows],
        told["originalGraphNodeId"][rows],
        told["start"][rows],
        told["globalTid"][rows],
    )


def creations(nodes: GraphNodes, process: Int64, number: Int64) -> Int64:
    """Per wanted node (process, number) the row in which the node was made that it goes back to;
    -1 where a link of the chain is missing, where it goes in a circle, or without a time."""
    original = nodes.original
    has_original = (original != ABSENT) & (original != 0) & (original != nodes.number)
    asked = np.concatenate((nodes.number, np.where(has_original, original, nodes.number), number))
    _, key = number_pairs(np.concatenate((nodes.process, nodes.process, process)), asked)
    size = len(nodes)
    # Of several rows of a node the first in time counts, and before all that which made it.
    order = np.lexsort((nodes.start_ns, has_original, key[:size]))
    known, first = np.unique(key[:size][order], return_index=True)
    row_of = np.append(order[first], -1)
    up = np.where(has_original, row_of[place_in(known, key[size : 2 * size])], np.arange(size))
    up = np.append(up, -1)
    for _ in range(size.bit_length()):
        up = up[up]
    is_end = np.append(~has_original & (nodes.start_ns != ABSENT), False)
    end = up[row_of[place_in(known, key[2 * size :])]]
    return np.where(is_end[end], end, -1)


def _open_at(ranges: Part, track: Int64, time_ns: Int64) -> Int64:
    """Per moment the row of the innermost operator that was open then, else of the innermost node,
    or -1."""
    category = ranges.slices.category
    operator = _innermost(
        ranges, np.isin(category, [int(each) for each in _OPERATORS]), track, time_ns
    )
    node = _innermost(
        ranges, np.isin(category, [int(each) for each in NODE_CATEGORIES]), track, time_ns
    )
    return np.where(operator >= 0, operator, node)


def _innermost(ranges: Part, chosen: Bools, track: Int64, time_ns: Int64) -> Int64:
    rows = np.flatnonzero(chosen)
    start_ns = ranges.slices.start_ns[rows]
    found = innermost_open(
        ranges.slices.track[rows].astype(np.int64),
        start_ns,
        start_ns + ranges.slices.dur_ns[rows],
        track,
        time_ns,
    )
    return np.append(rows, -1)[found]
