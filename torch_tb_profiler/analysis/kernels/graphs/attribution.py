"""Attribution of the kernels of graphs to modules, ranges and operators.

A replay launches all kernels of a graph at once, so that no host slice is around any of them.
Definitions: ``docs/views-compiled.md#attribution``.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.compiled.triton import (
    Provenance,
    kernel_provenances,
    source_line,
)
from torch_tb_profiler.analysis.kernels.graphs.annotations import annotation_text
from torch_tb_profiler.analysis.kernels.graphs.captures import captured_work
from torch_tb_profiler.analysis.kernels.graphs.launches import GraphLaunches, graph_launches
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.lookup import dense_pair_ids, positions_in
from torch_tb_profiler.trace.model import Trace

NONE, INLINE, FILE, CAPTURE, CREATION, SOURCE = range(6)
SOURCES: Final = (
    None,
    "annotation in the trace",
    "annotation file",
    "capture trace",
    "creation of the node",
    "source of the generated kernel",
)
"""Sources of an attribution, by code; earlier ones take precedence."""

MAX_DEPTH = 64
"""At most so many nested ranges are searched."""

MAX_RANGES = 3
"""At most so many ranges around the creation of a node are named, the innermost."""


class Attribution(Struct, frozen=True, eq=False):
    """Attribution of the work of graphs; arrays are aligned with ``GraphLaunches.row``.

    Attributes:
        texts: The distinct texts of all columns.
        part: Index into ``texts`` of the module, range or annotation, -1 for none.
        operator: Likewise of the operator that launched it when the graph was captured.
        shapes: Likewise of the input shapes of that operator.
        source: Index into :data:`SOURCES`.
    """

    texts: list[str]
    part: Int64
    operator: Int64
    shapes: Int64
    source: Int8


class _Builder:
    """Fills the columns source by source; earlier sources take precedence."""

    def __init__(self, count: int) -> None:
        self.texts: dict[str, int] = {}
        self.part, self.operator, self.shapes = (np.full(count, -1) for _ in range(3))
        self.source = np.zeros(count, np.int8)

    def code(self, text: str | None) -> int:
        """The index of a text, -1 for none."""
        return self.texts.setdefault(text, len(self.texts)) if text else -1

    def set_parts(self, rows: Int64, part: Int64, source: int) -> None:
        """Set the part of those rows that have none yet."""
        is_new = (self.source[rows] == NONE) & (part >= 0)
        self.part[rows[is_new]] = part[is_new]
        self.source[rows[is_new]] = source


@per_trace
def attribution(trace: Trace) -> Attribution:
    """The attribution of the work of all graphs."""
    launches = graph_launches(trace)
    builder = _Builder(len(launches.row))
    _add_inline(trace, launches, builder)
    _add_files(trace, launches, builder)
    _add_captures(trace, builder)
    _add_creations(trace, launches, builder)
    _add_sources(trace, launches, builder)
    return Attribution(
        list(builder.texts), builder.part, builder.operator, builder.shapes, builder.source
    )


def _add_inline(trace: Trace, launches: GraphLaunches, builder: _Builder) -> None:
    stated = trace.stated.filter(pl.col("annotation_code").is_not_null())
    if stated.is_empty():
        return
    known = stated["slice"].to_numpy()
    rows = positions_in(known, trace.device_work["slice"].to_numpy()[launches.row])
    known_rows = np.flatnonzero(rows >= 0)
    annotation = indices(stated["annotation_code"])
    names = {
        code: builder.code(annotation_text(str(trace.strings[code])))
        for code in distinct_values(annotation)
    }
    part = np.array([names[code] for code in annotation.tolist()], np.int64)
    builder.set_parts(known_rows, part[rows[known_rows]], INLINE)


def _add_files(trace: Trace, launches: GraphLaunches, builder: _Builder) -> None:
    side = trace.side.get("graph_annotations")
    if side is None or side.frame.is_empty():
        return
    graph, node = indices(side.frame["graph"]), indices(side.frame["node"])
    size = len(graph)
    graph_of_row = launches.graph[launches.launch]
    _, key = dense_pair_ids(
        np.concatenate((graph, graph_of_row)), np.concatenate((node, launches.node))
    )
    known, first = np.unique(key[:size], return_index=True)
    codes = np.array(
        [builder.code(annotation_text(text)) for text in side.frame["annotation"].to_list()],
        np.int64,
    )
    position = positions_in(known, key[size:])
    has_key = (graph_of_row >= 0) & (launches.node >= 0) & (position >= 0)
    rows = np.flatnonzero(has_key)
    builder.set_parts(rows, codes[first[position[rows]]], FILE)


def _add_captures(trace: Trace, builder: _Builder) -> None:
    captured = captured_work(trace)
    if captured is None:
        return
    rows = np.flatnonzero((captured.row >= 0) & (builder.source == NONE))
    captured_row = captured.row[rows]
    columns = (
        (builder.part, "module"),
        (builder.operator, "operator"),
        (builder.shapes, "input_shapes"),
    )
    for column, name in columns:
        codes = np.array([builder.code(text) for text in captured.frame[name].to_list()], np.int64)
        column[rows] = codes[captured_row]
    builder.shapes[rows[~captured.has_shapes[rows]]] = -1
    builder.part[rows[~captured.has_module[rows]]] = -1
    is_known = (builder.part[rows] >= 0) | (builder.operator[rows] >= 0)
    builder.source[rows[is_known]] = CAPTURE


def _add_creations(trace: Trace, launches: GraphLaunches, builder: _Builder) -> None:
    """Nsight records the node of every kernel, so that its importer sets the slice in which the
    node was created as owner: one that is not around the launch."""
    owner = indices(trace.device_work["owner"])[launches.row]
    rows = np.flatnonzero((builder.source == NONE) & (owner >= 0))
    rows = rows[~_is_around(trace, owner[rows], launches.slice[launches.launch[rows]])]
    if not len(rows):
        return
    owners, index = factorize(owner[rows])
    parts = np.array([builder.code(_ranges_around(trace, int(each))) for each in owners], np.int64)
    names = np.array([builder.code(_operator_name(trace, int(each))) for each in owners], np.int64)
    builder.part[rows], builder.operator[rows] = parts[index], names[index]
    builder.source[rows[(parts[index] >= 0) | (names[index] >= 0)]] = CREATION


def _add_sources(trace: Trace, launches: GraphLaunches, builder: _Builder) -> None:
    """The source that Inductor records of kernels it generated: the line of the program, else the
    nodes."""
    known = kernel_provenances(trace)
    rows = np.flatnonzero(builder.source == NONE)
    if not known or not len(rows):
        return
    names = trace.device_work["name_code"].to_numpy()[launches.row[rows]].astype(np.int64)
    distinct, index = factorize(names)
    sources = [known.get(trace.text(code) or "", Provenance()) for code in distinct.tolist()]
    codes = [builder.code(source_line(each.stack) or each.nodes) for each in sources]
    builder.set_parts(rows, np.array(codes, np.int64)[index], SOURCE)


def _is_around(trace: Trace, owner: Int64, launch: Int64) -> Bools:
    """Whether a slice is around a launch on its track; true for an unknown launch."""
    track = indices(trace.slices["track"])
    start = trace.slices["start_ns"].to_numpy()
    end = start + trace.slices["dur_ns"].to_numpy()
    is_inside: Bools = (
        (track[owner] == track[launch])
        & (start[owner] <= start[launch])
        & (start[launch] <= end[owner])
    )
    return is_inside | (launch < 0)


def _operator_name(trace: Trace, node: int) -> str | None:
    is_operator = trace.slices["category"][node] in (Category.OPERATOR, Category.PYTHON_OPERATOR)
    return trace.text(trace.slices["name_code"][node]) if is_operator else None


def _ranges_around(trace: Trace, node: int) -> str | None:
    """The ranges around a slice, itself included, outermost first."""
    slices, names = trace.slices, []
    number: int | None = node
    for _ in range(MAX_DEPTH):
        if number is None:
            break
        if slices["category"][number] == Category.ANNOTATION:
            names.append(trace.text(slices["name_code"][number]) or "")
        number = slices["parent"][number]
    return " / ".join(reversed(names[:MAX_RANGES])) or None


@per_trace
def launch_ranges(trace: Trace) -> Int64:
    """Per launch of a graph the innermost user range around it, -1 for none; for servers its
    step."""
    launches = graph_launches(trace)
    category = trace.slices["category"].to_numpy()
    parent = indices(trace.slices["parent"])
    ranges = np.full(launches.count, -1)
    around = gather(parent, launches.slice)
    for _ in range(MAX_DEPTH):
        rest = np.flatnonzero((around >= 0) & (ranges < 0))
        if not len(rest):
            break
        is_range = category[around[rest]] == Category.ANNOTATION
        ranges[rest[is_range]] = around[rest[is_range]]
        around[rest] = parent[around[rest]]
    return ranges
