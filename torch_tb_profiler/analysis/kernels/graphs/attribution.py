"""What the kernels of graphs belong to, and who says so.

A replay launches all kernels of a graph at once, so nothing of the host lies around any of them.
Definitions: ``docs/views-compiled.md#attribution``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.compiled.triton import Provenance, provenances, source_line
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
"""How it is told, by code; earlier sources count before later ones."""

MAX_CLIMBS = 64
"""Ranges inside each other that are looked at."""

SHOWN_RANGES = 3
"""So many ranges around the creation of a node are named, the innermost."""


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """What the work of graphs belongs to; arrays are aligned with ``GraphLaunches.row``.

    Attributes:
        texts: The distinct texts of all columns.
        part: Place in ``texts`` of the module, range or annotation, -1 for none.
        operator: Likewise of the operator that launched it when the graph was captured.
        shapes: Likewise of the input shapes of that.
        source: Place in :data:`SOURCES`.
    """

    texts: list[str]
    part: Int64
    operator: Int64
    shapes: Int64
    source: Int8


class _Told:
    """Fills the columns source by source; what is told already stays."""

    def __init__(self, count: int) -> None:
        self.texts: dict[str, int] = {}
        self.part, self.operator, self.shapes = (np.full(count, -1) for _ in range(3))
        self.source = np.zeros(count, np.int8)

    def code(self, text: str | None) -> int:
        """The place of a text, -1 of none."""
        return self.texts.setdefault(text, len(self.texts)) if text else -1

    def tell(self, rows: Int64, part: Int64, source: int) -> None:
        """Rows get a part, those among them that have none and get some."""
        is_new = (self.source[rows] == NONE) & (part >= 0)
        self.part[rows[is_new]] = part[is_new]
        self.source[rows[is_new]] = source


@per_trace
def attribution(trace: Trace) -> Attribution:
    """What the work of all graphs belongs to; made once."""
    launches = graph_launches(trace)
    told = _Told(len(launches.row))
    _tell_inline(trace, launches, told)
    _tell_files(trace, launches, told)
    _tell_captures(trace, told)
    _tell_creations(trace, launches, told)
    _tell_sources(trace, launches, told)
    return Attribution(list(told.texts), told.part, told.operator, told.shapes, told.source)


def _tell_inline(trace: Trace, launches: GraphLaunches, told: _Told) -> None:
    stated = trace.stated.filter(pl.col("annotation_code").is_not_null())
    if stated.is_empty():
        return
    known = stated["slice"].to_numpy()
    rows = positions_in(known, trace.device_work["slice"].to_numpy()[launches.row])
    at = np.flatnonzero(rows >= 0)
    written = indices(stated["annotation_code"])
    names = {
        code: told.code(annotation_text(str(trace.strings[code]))) for code in np.unique(written)
    }
    part = np.array([names[code] for code in written.tolist()], np.int64)
    told.tell(at, part[rows[at]], INLINE)


def _tell_files(trace: Trace, launches: GraphLaunches, told: _Told) -> None:
    side = trace.side.get("graph_annotations")
    if side is None or side.frame.is_empty():
        return
    graph, node = indices(side.frame["graph"]), indices(side.frame["node"])
    size = len(graph)
    wanted_graph = launches.graph[launches.launch]
    _, key = dense_pair_ids(
        np.concatenate((graph, wanted_graph)), np.concatenate((node, launches.node))
    )
    known, first = np.unique(key[:size], return_index=True)
    codes = np.array(
        [told.code(annotation_text(text)) for text in side.frame["annotation"].to_list()], np.int64
    )
    place = positions_in(known, key[size:])
    has_key = (wanted_graph >= 0) & (launches.node >= 0) & (place >= 0)
    at = np.flatnonzero(has_key)
    told.tell(at, codes[first[place[at]]], FILE)


def _tell_captures(trace: Trace, told: _Told) -> None:
    captured = captured_work(trace)
    if captured is None:
        return
    rows = np.flatnonzero((captured.row >= 0) & (told.source == NONE))
    of = captured.row[rows]
    columns = (
        (told.part, "module"),
        (told.operator, "operator"),
        (told.shapes, "input_shapes"),
    )
    for column, name in columns:
        codes = np.array([told.code(text) for text in captured.frame[name].to_list()], np.int64)
        column[rows] = codes[of]
    told.shapes[rows[~captured.has_shapes[rows]]] = -1
    told.part[rows[~captured.has_module[rows]]] = -1
    is_told = (told.part[rows] >= 0) | (told.operator[rows] >= 0)
    told.source[rows[is_told]] = CAPTURE


def _tell_creations(trace: Trace, launches: GraphLaunches, told: _Told) -> None:
    """Nsight names the node of every kernel, so its importer finds who owned the node's making:
    that is no slice around the launch."""
    owner = indices(trace.device_work["owner"])[launches.row]
    at = np.flatnonzero((told.source == NONE) & (owner >= 0))
    at = at[~_is_around(trace, owner[at], launches.slice[launches.launch[at]])]
    if not len(at):
        return
    owners, place = np.unique(owner[at], return_inverse=True)
    parts = np.array([told.code(_ranges_around(trace, int(each))) for each in owners], np.int64)
    names = np.array([told.code(_operator_name(trace, int(each))) for each in owners], np.int64)
    told.part[at], told.operator[at] = parts[place], names[place]
    told.source[at[(parts[place] >= 0) | (names[place] >= 0)]] = CREATION


def _tell_sources(trace: Trace, launches: GraphLaunches, told: _Told) -> None:
    """What Inductor says of kernels it generated: the line of the program, else the nodes."""
    known = provenances(trace)
    at = np.flatnonzero(told.source == NONE)
    if not known or not len(at):
        return
    names = trace.device_work["name_code"].to_numpy()[launches.row[at]].astype(np.int64)
    distinct, place = np.unique(names, return_inverse=True)
    found = [known.get(trace.text(code) or "", Provenance()) for code in distinct.tolist()]
    codes = [told.code(source_line(each.stack) or each.nodes) for each in found]
    told.tell(at, np.array(codes, np.int64)[place], SOURCE)


def _is_around(trace: Trace, owner: Int64, launch: Int64) -> Bools:
    """Whether a node is around a launch on its track; of an unknown launch it may be."""
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
    """The ranges around a node, or those that it is, outermost first."""
    slices, names = trace.slices, []
    number: int | None = node
    for _ in range(MAX_CLIMBS):
        if number is None:
            break
        if slices["category"][number] == Category.ANNOTATION:
            names.append(trace.text(slices["name_code"][number]) or "")
        number = slices["parent"][number]
    return " / ".join(reversed(names[:SHOWN_RANGES])) or None


@per_trace
def ranges_of_launches(trace: Trace) -> Int64:
    """Per launch of a graph the innermost range of the user around it, -1 for none: of servers the
    step that it belongs to."""
    launches = graph_launches(trace)
    category = trace.slices["category"].to_numpy()
    parent = indices(trace.slices["parent"])
    found = np.full(launches.count, -1)
    at = gather(parent, launches.slice)
    for _ in range(MAX_CLIMBS):
        left = np.flatnonzero((at >= 0) & (found < 0))
        if not len(left):
            break
        is_range = category[at[left]] == Category.ANNOTATION
        found[left[is_range]] = at[left[is_range]]
        at[left] = parent[at[left]]
    return found
