"""The kernels of one launch of a graph, in order, and what kinds of work they are.

Definitions: ``docs/views-compiled.md#kernels-of-a-launch``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.kernels.graphs.attribution import SOURCES, attribution
from torch_tb_profiler.analysis.kernels.graphs.kinds import graph_work_kinds
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled.filled import filled, gathered, in_us
from torch_tb_profiler.views.compiled.launches import NO_GRAPHS
from torch_tb_profiler.views.name_columns import OTHER_NAMES, other_names
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NOT_ATTRIBUTED = (
    "Not attributed: no annotation in the trace or a sidecar file, no matching capture trace, no "
    "recorded node creation."
)
FIRST = "It is the first kernel of the launch."

ATTRIBUTION_COLUMNS = (
    Column(
        "part",
        "Module or Annotation",
        "string",
        None,
        "Module, range or annotation in which the node was captured.",
    ),
    Column(
        "operator",
        "Captured Operator",
        "string",
        None,
        "Operator that launched it during graph capture.",
    ),
    Column("told_by", "Attribution Source", "string", None, "Source of module and operator."),
)

KERNELS = TableSpec(
    "graph_kernels",
    "Kernels of a launch",
    "One row per kernel, copy and memset of one launch, in order of start: the longest launch of "
    "the selection, or the launch whose number is given as operator_id.",
    (
        Column("place", "Position", "integer", None, "Position in the launch, from 1."),
        Column("node", "Node", "integer", None, "Id of its node in the graph."),
        Column("name", "Name", "string", None, "Name of the kernel, copy or memset."),
        *OTHER_NAMES,
        Column("kind", "Kind", "string", None, "Kind of work, inferred from the name."),
        Column(
            "offset_us",
            "Offset",
            "number",
            "us",
            "Start relative to the first start of the launch.",
        ),
        Column(
            "gap_before_us",
            "Gap Before",
            "number",
            "us",
            "Time since all earlier work of the launch ended; 0 if it overlaps earlier work.",
            family="time",
            additive=True,
        ),
        Column(
            "duration_us",
            "Duration",
            "number",
            "us",
            "Duration of the execution.",
            family="time",
            additive=True,
        ),
        Column("stream", "Stream", "integer", None, "Stream it ran on.", hidden=True),
        *ATTRIBUTION_COLUMNS,
        Column(
            "input_shapes",
            "Captured Shapes",
            "string",
            None,
            "Input shapes of the captured operator.",
            hidden=True,
        ),
    ),
    sort="place",
    when_empty=NO_GRAPHS,
)

KINDS = TableSpec(
    "launch_kinds",
    "Kinds of work in a launch",
    "One row per kind of work of that launch, with the mean over all launches of its graph in "
    "the selection; gaps are a row too.",
    (
        Column("kind", "Kind", "string", None, "Kind of work, inferred from kernel names."),
        Column("kernels", "Kernels", "integer", "count", "Number of executions.", additive=True),
        Column(
            "time_us",
            "Time",
            "number",
            "us",
            "Summed duration; for gaps the time in which none of the launch's kernels ran.",
            family="time",
            additive=True,
        ),
        Column(
            "span_pct",
            "Share",
            "number",
            "pct",
            "Time as share of the launch's span. Overlapping kernels count each, so rows may add "
            "up to more than 100 %.",
        ),
        Column(
            "mean_us",
            "Mean over Launches",
            "number",
            "us",
            "Mean of Time over the launches of the same graph.",
            family="time",
        ),
    ),
    sort="-time_us,kind",
    when_empty=NO_GRAPHS,
)
GAPS = "gaps"


def kernels_table(trace: Trace, launch: int | None) -> Table:
    """The rows of :data:`KERNELS` of one launch."""
    launches, nodes = graph_launches(trace), graph_nodes(trace)
    if launch is None:
        return Table(KERNELS, pl.DataFrame(schema=KERNELS.polars_schema()))
    at = np.arange(launches.first[launch], launches.first[launch + 1])
    row = launches.row[at]
    work, attributed, kinds = trace.device_work, attribution(trace), graph_work_kinds(trace)
    names = work["name_code"].gather(row)
    gaps = graph_times(trace).gap_before_ns[at]
    shorts, demangled = other_names(trace, names)
    start_ns = work["start_ns"].to_numpy()[row]
    values: dict[str, Any] = {
        "place": np.arange(1, len(at) + 1),
        "node": nodes.number[nodes.node[at]],
        "name": codes.texts(trace, names),
        "short_name": shorts,
        "demangled_name": demangled,
        "kind": gathered(kinds.names, kinds.kind[at]),
        "offset_us": in_us(start_ns - start_ns[:1]),
        "gap_before_us": pl.Series(np.where(gaps >= 0, in_us(gaps), np.nan), nan_to_null=True),
        "duration_us": in_us(work["dur_ns"].to_numpy()[row]),
        "stream": work["stream"].gather(row),
        "part": gathered(attributed.texts, attributed.part[at]),
        "operator": gathered(attributed.texts, attributed.operator[at]),
        "told_by": gathered(SOURCES, attributed.source[at].astype(np.int64)),
        "input_shapes": gathered(attributed.texts, attributed.shapes[at]),
    }
    reasons = dict.fromkeys(("part", "told_by"), NOT_ATTRIBUTED)
    return filled(KERNELS, values, reasons | {"gap_before_us": FIRST})


def kinds_table(trace: Trace, launch: int | None, selected: Bools) -> Table:
    """The rows of :data:`KINDS` of one launch, with means over the selected launches of its
    graph."""
    launches, nodes, times = graph_launches(trace), graph_nodes(trace), graph_times(trace)
    if launch is None:
        return Table(KINDS, pl.DataFrame(schema=KINDS.polars_schema()))
    alike = selected & (nodes.graph == nodes.graph[launch])
    alike[launch] = True
    kinds = graph_work_kinds(trace)
    of_row = launches.launch
    dur = trace.device_work["dur_ns"].to_numpy()[launches.row]
    size = len(kinds.names)
    counts, time, total = (np.zeros(size + 1, np.int64) for _ in range(3))
    mine, all_of_it = of_row == launch, alike[of_row]
    np.add.at(counts, kinds.kind[mine], 1)
    np.add.at(time, kinds.kind[mine], dur[mine])
    np.add.at(total, kinds.kind[all_of_it], dur[all_of_it])
    gaps = times.span_ns - times.busy_ns
    time[size], total[size] = gaps[launch], gaps[alike].sum()
    shown = np.flatnonzero((counts > 0) | (total > 0))
    span = max(int(times.span_ns[launch]), 1)
    values: dict[str, Any] = {
        "kind": [(*kinds.names, GAPS)[kind] for kind in shown.tolist()],
        "kernels": [None if kind == size else int(counts[kind]) for kind in shown.tolist()],
        "time_us": in_us(time[shown]),
        "span_pct": 100.0 * time[shown] / span,
        "mean_us": in_us(total[shown], int(alike.sum())),
    }
    return filled(KINDS, values)
