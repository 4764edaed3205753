"""The nodes of graphs, and the parts of the model they belong to, over all launches.

Definitions: ``docs/views-compiled.md#graphs-and-nodes``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.graphs.attribution import SOURCES, attribution
from torch_tb_profiler.analysis.kernels.graphs.kinds import graph_work_kinds
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.compiled.filled import filled, gathered
from torch_tb_profiler.views.compiled.kernels import ATTRIBUTION_COLUMNS, NOT_ATTRIBUTED
from torch_tb_profiler.views.compiled.launches import NO_GRAPHS
from torch_tb_profiler.views.name_columns import OTHER_NAMES, other_names
from torch_tb_profiler.views.schema import Column, Table, TableSpec
from torch_tb_profiler.views.shares import share_columns, with_shares

NO_TIME = "The graph kernels in the selection have no duration."
_WHOLE = "the time of all graph kernels in the selection"


def _time(key: str, title: str, text: str) -> Column:
    return Column(key, title, "number", "us", text, family="call")


_TOTAL = Column(
    "total_us", "Total", "number", "us", "Summed duration over all launches.", additive=True
)
_CALLS = Column("calls", "Calls", "integer", "count", "How often it ran.", additive=True)

NODES = TableSpec(
    "graph_nodes",
    "Graph nodes",
    "One row per graph node and kernel, over all launches in the selection.",
    (
        Column("graph", "Graph", "string", None, "Graph, as in the table of graphs."),
        Column(
            "node",
            "Node",
            "integer",
            None,
            "Id of the node as recorded, or else its position in the first launch.",
        ),
        Column("name", "Name", "string", None, "Name of the kernel, copy or memset."),
        *OTHER_NAMES,
        Column("kind", "Kind", "string", None, "Kind of work, inferred from the name."),
        *ATTRIBUTION_COLUMNS,
        _CALLS,
        _TOTAL,
        _time("mean_us", "Mean", "Mean duration."),
        _time("min_us", "Min", "Shortest duration."),
        _time("max_us", "Max", "Longest duration."),
        _time(
            "mean_gap_before_us",
            "Mean Gap Before",
            "Mean time since all earlier work of its launch ended.",
        ),
        *share_columns("Total", _WHOLE),
    ),
    sort="-total_us,graph,node",
    when_empty=NO_GRAPHS,
)

PARTS = TableSpec(
    "graph_parts",
    "Modules in graphs",
    "One row per module, range or annotation that graph kernels belong to, and one for kernels "
    "without attribution.",
    (
        Column(
            "part",
            "Module or Annotation",
            "string",
            None,
            "Module, range or annotation in which the nodes were captured, or else the operator.",
        ),
        Column("told_by", "Attribution Source", "string", None, "Source of the attribution."),
        Column(
            "nodes", "Nodes", "integer", "count", "Number of different graph nodes.", additive=True
        ),
        _CALLS,
        _TOTAL,
        Column(
            "mean_per_launch_us",
            "Per Launch",
            "number",
            "us",
            "Total divided by the launches of the graphs that contain any of it.",
        ),
        *share_columns("Total", _WHOLE),
    ),
    sort="-total_us,part",
    is_summary=True,
    when_empty=NO_GRAPHS,
)


def nodes_table(trace: Trace, sums: pl.DataFrame) -> Table:
    """The rows of :data:`NODES`, with their shares, from ``node_sums``."""
    nodes, attributed, kinds = graph_nodes(trace), attribution(trace), graph_work_kinds(trace)
    node = sums["node"].to_numpy()
    shorts, demangled = other_names(trace, sums["name_code"])
    values: dict[str, Any] = {
        "graph": [nodes.label(graph) for graph in nodes.graph_of_node[node].tolist()],
        "node": nodes.number[node],
        "name": codes.texts(trace, sums["name_code"]),
        "short_name": shorts,
        "demangled_name": demangled,
        "kind": [kinds.names[kind] for kind in sums["kind"].to_list()],
        "part": gathered(attributed.texts, sums["part"].to_numpy()),
        "operator": gathered(attributed.texts, sums["operator"].to_numpy()),
        "told_by": [SOURCES[source] for source in sums["source"].to_list()],
        "calls": sums["calls"],
        "total_us": microseconds(sums["total_ns"]),
        "mean_us": microseconds(sums["total_ns"], sums["calls"]),
        "min_us": microseconds(sums["min_ns"]),
        "max_us": microseconds(sums["max_ns"]),
        "mean_gap_before_us": microseconds(sums["gap_ns"], sums["gaps"]),
    }
    table = filled(NODES, values, dict.fromkeys(("part", "told_by"), NOT_ATTRIBUTED))
    return with_shares(table, "total_us", NO_TIME)


def parts_table(trace: Trace, sums: pl.DataFrame, selected: Bools) -> Table:
    """The rows of :data:`PARTS` of the selected launches, with their shares, from ``node_sums``."""
    nodes, attributed = graph_nodes(trace), attribution(trace)
    launches = np.bincount(nodes.graph[selected], minlength=nodes.count)
    named = pl.when(pl.col("part") >= 0).then("part").otherwise("operator").alias("text")
    graph = nodes.graph_of_node[sums["node"].to_numpy()]
    groups = (
        sums.with_columns(named, graph=pl.Series(graph), launches=pl.Series(launches[graph]))
        .group_by("text", "source", maintain_order=True)
        .agg(
            pl.col("node").n_unique().cast(pl.Int64).alias("nodes"),
            pl.col("calls", "total_ns").sum(),
            pl.col("launches").filter(pl.col("graph").is_first_distinct()).sum(),
        )
    )
    values: dict[str, Any] = {
        "part": gathered(attributed.texts, groups["text"].to_numpy()),
        "told_by": [SOURCES[source] for source in groups["source"].to_list()],
        "nodes": groups["nodes"],
        "calls": groups["calls"],
        "total_us": microseconds(groups["total_ns"]),
        "mean_per_launch_us": microseconds(groups["total_ns"], groups["launches"]),
    }
    table = filled(PARTS, values, dict.fromkeys(("part", "told_by"), NOT_ATTRIBUTED))
    return with_shares(table, "total_us", NO_TIME)
