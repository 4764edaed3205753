"""The work of graphs summed by node, kernel and attribution, for any launches.

Definitions: ``docs/views-compiled.md#graphs-and-nodes``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import order_by_id
from torch_tb_profiler.analysis.kernels.graphs.attribution import attribution
from torch_tb_profiler.analysis.kernels.graphs.kinds import graph_work_kinds
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids
from torch_tb_profiler.trace.model import Trace


class _Groups(Struct, frozen=True, eq=False):
    """The rows of ``GraphLaunches.row`` sorted by group.

    Attributes:
        group: Per row its group, ascending.
        launch, dur_ns, gap_ns: Likewise; -1 for no gap.
        example: Per group the index of one of its rows in ``GraphLaunches.row``.
    """

    group: Int64
    launch: Int64
    dur_ns: Int64
    gap_ns: Int64
    example: Int64


@per_trace
def _groups(trace: Trace) -> _Groups:
    launches, nodes, attributed = graph_launches(trace), graph_nodes(trace), attribution(trace)
    names = trace.device_work["name_code"].to_numpy()[launches.row]
    _, group = dense_pair_ids(nodes.node, names)
    for column in (attributed.part, attributed.operator, attributed.source):
        example, group = dense_pair_ids(group, column)
    order = order_by_id(group)
    dur = trace.device_work["dur_ns"].to_numpy()[launches.row]
    return _Groups(
        group[order],
        launches.launch[order],
        dur[order],
        graph_times(trace).gap_before_ns[order],
        example,
    )


def node_sums(trace: Trace, selected: Bools) -> pl.DataFrame:
    """A row per node, kernel and attribution, of the selected launches.

    Columns: node, name_code, kind, part, operator, source (as in ``Attribution``), calls,
    total_ns, min_ns, max_ns, gap_ns and gaps (sum and number of the known ones).
    """
    groups = _groups(trace)
    rows = np.flatnonzero(selected[groups.launch])
    group = groups.group[rows]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    example = groups.example[group[first]]
    dur, gap = groups.dur_ns[rows], groups.gap_ns[rows]
    attributed, row = attribution(trace), graph_launches(trace).row

    def each(ufunc: np.ufunc, values: Int64) -> Int64:
        reduced: Int64 = ufunc.reduceat(values, first) if len(first) else values[:0]
        return reduced

    return pl.DataFrame(
        {
            "node": graph_nodes(trace).node[example],
            "name_code": trace.device_work["name_code"].to_numpy()[row[example]],
            "kind": graph_work_kinds(trace).kind[example],
            "part": attributed.part[example],
            "operator": attributed.operator[example],
            "source": attributed.source[example],
            "calls": np.diff(np.append(first, len(rows))),
            "total_ns": each(np.add, dur),
            "min_ns": each(np.minimum, dur),
            "max_ns": each(np.maximum, dur),
            "gap_ns": each(np.add, np.maximum(gap, 0)),
            "gaps": each(np.add, (gap >= 0).astype(np.int64)),
        }
    )
