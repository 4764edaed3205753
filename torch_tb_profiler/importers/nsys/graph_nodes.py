"""Kernels of replayed CUDA graphs belong to the range that was open when their node was created.

A kernel of a replay has a node id. Instantiating or cloning a graph creates new nodes that refer to
the original node. This chain leads to the node that the program created, with its time and thread.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.open_ranges import innermost_open
from torch_tb_profiler.importers.nsys.parts import SlicePart
from torch_tb_profiler.importers.nsys.tracks import NsysTracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.categories import NODE_CATEGORIES, Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64
from torch_tb_profiler.trace.lookup import dense_pair_ids, positions_in
from torch_tb_profiler.trace.quality import QualityReport

TABLES = ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")
"""Tables of node creations, the newer one first; where both exist, the older holds other events."""

_OPERATORS = (Category.OPERATOR, Category.PYTHON_OPERATOR)


class GraphNodeRows(Struct, frozen=True, eq=False):
    """Rows about graph nodes; arrays are aligned.

    Attributes:
        process: Process of the node; node ids are unique within a process.
        number: Id of the node.
        original: Id of the node from which it was created; absent, 0 or its own id if there is
            none.
        start_ns: Time of the creation.
        global_tid: Thread of the creation.
    """

    process: Int64
    number: Int64
    original: Int64
    start_ns: Int64
    global_tid: Int64

    def __len__(self) -> int:
        return len(self.number)


def find_owners(
    database: Database,
    tracks: NsysTracks,
    ranges: SlicePart,
    global_pids: Int64,
    graph_nodes: Int64,
    *,
    quality: QualityReport,
) -> Int64:
    """Find the range that owns each piece of device work of a graph: the row in ``ranges`` of the
    innermost operator (else of the innermost range) that was open when its node was created;
    :data:`ABSENT` if there is none.

    Args:
        database: The export.
        tracks: The tracks of the ranges.
        ranges: The ranges.
        global_pids: Process of each piece.
        graph_nodes: ``graphNodeId`` of each, or :data:`ABSENT`.
        quality: Gets the number of unknown nodes and of kernels with an owner.
    """
    is_of_node = (graph_nodes != ABSENT) & (graph_nodes != 0)
    nodes = _read_nodes(database) if is_of_node.any() else None
    if nodes is None:
        return np.full(len(graph_nodes), ABSENT)
    # There are far fewer nodes than kernels: owners are found per node.
    (pids, numbers), number = distinct_rows(global_pids, graph_nodes)
    kernels = np.bincount(number, minlength=len(numbers))
    kernels[(numbers == ABSENT) | (numbers == 0)] = 0
    creation = np.where(kernels > 0, find_creations(nodes, pids, numbers), ABSENT)
    quality.add("graph_node_unknown", int(kernels[creation < 0].sum()))
    known = creation >= 0
    track = tracks.thread_tracks(nodes.global_tid[creation[known]])
    row = np.full(len(numbers), -1, np.int64)
    row[known] = _open_at(ranges, track.astype(np.int64), nodes.start_ns[creation[known]])
    quality.add("graph_kernels_at_creation", int(kernels[row >= 0].sum()))
    owner: Int64 = np.where(row >= 0, row, ABSENT)[number]
    return owner


def _read_nodes(database: Database) -> GraphNodeRows | None:
    """Read the graph nodes of an export, None if it has no table of them."""
    table = next((name for name in TABLES if "graphNodeId" in database.tables.get(name, ())), None)
    if table is None:
        return None
    columns = database.ints(table, ["start", "globalTid", "graphNodeId", "originalGraphNodeId"])
    rows = np.flatnonzero((columns["graphNodeId"] != ABSENT) & (columns["globalTid"] != ABSENT))
    return GraphNodeRows(
        global_pid(columns["globalTid"][rows]),
        columns["graphNodeId"][rows],
        columns["originalGraphNodeId"][rows],
        columns["start"][rows],
        columns["globalTid"][rows],
    )


def find_creations(nodes: GraphNodeRows, process: Int64, number: Int64) -> Int64:
    """Per requested node (process, id) the row of the creation to which its chain leads; -1 if a
    link of the chain is missing or circular, or the creation has no time."""
    original = nodes.original
    has_original = (original != ABSENT) & (original != 0) & (original != nodes.number)
    ids = np.concatenate((nodes.number, np.where(has_original, original, nodes.number), number))
    _, key = dense_pair_ids(np.concatenate((nodes.process, nodes.process, process)), ids)
    size = len(nodes)
    # Among several rows of a node its creation counts first, then the earliest row.
    order = np.lexsort((nodes.start_ns, has_original, key[:size]))
    known, first = np.unique(key[:size][order], return_index=True)
    row_by_node = np.append(order[first], -1)
    up = np.where(
        has_original, row_by_node[positions_in(known, key[size : 2 * size])], np.arange(size)
    )
    up = np.append(up, -1)
    for _ in range(size.bit_length()):
        up = up[up]
    is_end = np.append(~has_original & (nodes.start_ns != ABSENT), False)
    end = up[row_by_node[positions_in(known, key[2 * size :])]]
    return np.where(is_end[end], end, -1)


def _open_at(ranges: SlicePart, track: Int64, time_ns: Int64) -> Int64:
    """Per time the row of the innermost open operator, else of the innermost open range, else
    -1."""
    category = ranges.slices.category
    operator = _innermost(
        ranges, np.isin(category, [int(each) for each in _OPERATORS]), track, time_ns
    )
    node = _innermost(
        ranges, np.isin(category, [int(each) for each in NODE_CATEGORIES]), track, time_ns
    )
    return np.where(operator >= 0, operator, node)


def _innermost(ranges: SlicePart, chosen: Bools, track: Int64, time_ns: Int64) -> Int64:
    if not len(time_ns):
        return np.full(0, -1, np.int64)
    # Nodes are created before the training: later ranges need not be nested.
    rows = np.flatnonzero(chosen & (ranges.slices.start_ns <= time_ns.max()))
    start_ns = ranges.slices.start_ns[rows]
    position = innermost_open(
        ranges.slices.track[rows].astype(np.int64),
        start_ns,
        start_ns + ranges.slices.dur_ns[rows],
        track,
        time_ns,
    )
    return np.append(rows, -1)[position]
