"""Graphs of a trace that were captured in another one: which captured launch each kernel is.

Definitions: ``docs/views-compiled.md#capture-traces``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nsmallest
from itertools import groupby

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.phases import window
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_ALIGNED = 2000
"""Launches up to here are aligned by name where their numbers differ: it takes time by the
square of it."""

MAX_TRIED = 8
"""So many captures are tried, those nearest in number."""

LEAST_ALIKE = 0.9
"""So alike two sequences of different lengths must be."""

MAX_CLIMBS = 64
_KINDS = {Category.MEMCPY: "copy", Category.MEMSET: "set"}


@dataclass(frozen=True, slots=True, eq=False)
class CapturedWork:
    """What was captured for the work of graphs.

    Attributes:
        frame: The rows of the side table ``captured_kernels``.
        row: Per row of ``GraphLaunches.row`` the row of ``frame`` that it is, -1 for none.
        has_shapes: Per row of ``GraphLaunches.row`` whether its shapes are known, too: several
            captures of other batch sizes may fit a launch whose own is not known.
        has_module: Likewise of its module: several graphs of one capture, one for each layer, say,
            may fit a launch whose place in its step is not known.
    """

    frame: pl.DataFrame
    row: Int64
    has_shapes: Bools
    has_module: Bools


@dataclass(frozen=True, slots=True)
class _Capture:
    """One captured graph: its rows in the frame, its file and place there, and what each row
    launched, by kind and name."""

    rows: Int64
    file: str
    graph: int
    batch_size: int | None
    kernels: tuple[str | None, ...]
    shapes: tuple[str | None, ...]


@per_trace
def captured_work(trace: Trace) -> CapturedWork | None:
    """What was captured for the work of all graphs; None where no capture stands beside the
    trace."""
    side = trace.side.get("captured_kernels")
    if side is None or side.frame.is_empty():
        return None
    captures = _captures(side.frame)
    launches, windows = graph_launches(trace), serving_windows(trace)
    row = np.full(len(launches.row), -1)
    has_shapes, has_module = np.zeros((2, len(launches.row)), np.bool_)
    known: dict[tuple[tuple[str, ...], ...], list[tuple[_Capture, Int64]]] = {}
    for at, alike in _alike_launches(graph_nodes(trace).graph, windows):
        by_node, fitting = _told(trace, captures, at, known)
        if not fitting:
            continue
        size, place = int(windows.size[at]), int(windows.place[at])
        capture, places, is_sure = _best(fitting, size, place)
        mapped = gather(capture.rows, places)
        with_shapes = (size >= 0 and capture.batch_size is not None) or _same_shapes(fitting)
        for each in alike.tolist():
            first, last = launches.first[each], launches.first[each + 1]
            row[first + _order(trace, each, by_node=by_node)] = mapped[: last - first]
            has_shapes[first:last], has_module[first:last] = with_shapes, is_sure
    return CapturedWork(side.frame, row, has_shapes, has_module)


def _told(
    trace: Trace,
    captures: Mapping[tuple[str, ...], Sequence[_Capture]],
    at: int,
    known: dict[tuple[tuple[str, ...], ...], list[tuple[_Capture, Int64]]],
) -> tuple[bool, list[tuple[_Capture, Int64]]]:
    """Whether numbers of nodes tell the order of a launch, and the captures that it may be of;
    launches of the same kernels are looked up once."""
    for by_node in (True, False):
        work = _work(trace, at, by_node=by_node)
        if work not in known:
            known[work] = _fitting(captures, *work)
        if known[work]:
            return by_node, known[work]
    return False, []


def _captures(frame: pl.DataFrame) -> dict[tuple[str, ...], list[_Capture]]:
    """The captured graphs, by the kinds of what they launch."""
    keys = frame.select("capture", "graph").rows()
    found: dict[tuple[str, ...], list[_Capture]] = {}
    for (file, graph), group in groupby(range(frame.height), key=lambda row: keys[row]):
        rows = np.array(list(group), np.int64)
        part = frame[rows]
        kinds = tuple(map(_kind_of_call, part["call"].to_list()))
        capture = _Capture(
            rows,
            file,
            graph,
            part["batch_size"][0],
            tuple(part["kernel"].to_list()),
            tuple(part["input_shapes"].to_list()),
        )
        found.setdefault(kinds, []).append(capture)
    return found


def _kind_of_call(call: str) -> str:
    if "Memcpy" in call:
        return "copy"
    return "set" if "Memset" in call else "kernel"


def _alike_launches(graph: Int64, windows: ServingWindows) -> list[tuple[int, Int64]]:
    """The first launch of each graph, batch size and place in its step, with all like it."""
    keys = np.stack((graph, windows.size, windows.place), axis=1)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(number.reshape(-1)))[:-1])
    return list(zip(first.tolist(), groups, strict=True))


def _order(trace: Trace, at: int, *, by_node: bool) -> Int64:
    """The order of a launch's work as it was captured: nodes are numbered in that order; where the
    recorder wrote no numbers, as it ran."""
    launches = graph_launches(trace)
    first, last = launches.first[at], launches.first[at + 1]
    node = launches.node[first:last]
    if by_node and (node >= 0).all():
        return np.argsort(node, kind="stable")
    return np.arange(last - first)


def _work(trace: Trace, at: int, *, by_node: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kind and name of the work of a launch, in order."""
    launches = graph_launches(trace)
    order = _order(trace, at, by_node=by_node)
    rows = launches.row[launches.first[at] : launches.first[at + 1]][order]
    category = trace.device_work["category"].to_numpy()[rows]
    names = trace.device_work["name_code"].to_numpy()[rows]
    kinds = tuple(_KINDS.get(Category(each), "kernel") for each in category.tolist())
    return kinds, tuple(str(trace.strings[name]) for name in names.tolist())


def _fitting(
    captures: Mapping[tuple[str, ...], Sequence[_Capture]],
    kinds: tuple[str, ...],
    names: tuple[str, ...],
) -> list[tuple[_Capture, Int64]]:
    """The captures that a launch may be a replay of: per kernel its place in the capture. As many
    were captured, each of the same kind and, where it has one, name; else those that are almost so
    by name."""
    exact = [
        (capture, np.arange(len(names)))
        for capture in captures.get(kinds, ())
        if _are_names(capture.kernels, kinds, names)
    ]
    if exact or len(names) > MAX_ALIGNED:
        return exact
    several = (capture for each in captures.values() for capture in each)
    near = nsmallest(MAX_TRIED, several, key=lambda each: abs(len(each.rows) - len(names)))
    aligned = ((capture, _aligned(capture, names)) for capture in near)
    return [(capture, places) for capture, places in aligned if places is not None]


def _are_names(
    kernels: tuple[str | None, ...], kinds: tuple[str, ...], names: tuple[str, ...]
) -> bool:
    return all(
        kernel is None or kind != "kernel" or _is_name(kernel, name)
        for kernel, kind, name in zip(kernels, kinds, names, strict=True)
    )


def _is_name(kernel: str, name: str) -> bool:
    return kernel == name or demangled(kernel) == demangled(name)


def _aligned(capture: _Capture, names: tuple[str, ...]) -> Int64 | None:
    """Per kernel its place in a capture of another length, -1 for none; None where they differ too
    much, or where the capture names too little."""
    kernels = [kernel or "" for kernel in capture.kernels]
    if len(kernels) > MAX_ALIGNED or sum(map(bool, kernels)) < LEAST_ALIKE * len(kernels):
        return None
    matcher = SequenceMatcher(None, kernels, list(names), autojunk=False)
    if matcher.real_quick_ratio() < LEAST_ALIKE or matcher.quick_ratio() < LEAST_ALIKE:
        return None
    if matcher.ratio() < LEAST_ALIKE:
        return None
    places = np.full(len(names), -1)
    for block in matcher.get_matching_blocks():
        places[block.b : block.b + block.size] = np.arange(block.a, block.a + block.size)
    return places


def _best(
    fitting: Sequence[tuple[_Capture, Int64]], size: int, place: int
) -> tuple[_Capture, Int64, bool]:
    """The capture of the smallest batch that holds a launch's (where that is not known the first),
    and of several graphs in its file the one at the launch's place in its step; and whether it is
    sure which of them."""
    batches = [capture.batch_size or 0 for capture, _ in fitting]
    holding = [batch for batch in batches if size >= 0 and batch >= size]
    best = fitting[batches.index(min(holding)) if holding else 0][0]
    of_file = [each for each in fitting if each[0].file == best.file]
    at_place = [each for each in of_file if each[0].graph == place]
    capture, places = (at_place or of_file)[0]
    return capture, places, len(of_file) == 1 or bool(at_place)


def _same_shapes(fitting: Sequence[tuple[_Capture, Int64]]) -> bool:
    return len({capture.shapes for capture, _ in fitting}) == 1


@dataclass(frozen=True, slots=True, eq=False)
class ServingWindows:
    """The steps of a server that launches of graphs are of.

    Attributes:
        size: Per launch the tokens, else requests, of its step; -1 where none is around it.
        place: How many launches of the step came before it; -1 likewise.
    """

    size: Int64
    place: Int64


@per_trace
def serving_windows(trace: Trace) -> ServingWindows:
    """The steps of a server around all launches of graphs, told from the names of ranges."""
    launches = graph_launches(trace)
    parent = indices(trace.slices["parent"])
    names = trace.slices["name_code"].to_numpy()
    sizes, step = np.full((2, launches.count), -1)
    at = gather(parent, launches.slice)
    known: dict[int, int] = {}
    for _ in range(MAX_CLIMBS):
        left = np.flatnonzero((at >= 0) & (sizes < 0))
        if not len(left):
            break
        for code in np.unique(names[at[left]]).tolist():
            if code not in known:
                known[code] = _size(str(trace.strings[code]))
        sizes[left] = [known[code] for code in names[at[left]].tolist()]
        step[left] = at[left]
        at[left] = parent[at[left]]
    place = np.full(launches.count, -1)
    inside = np.flatnonzero(sizes >= 0)
    order = inside[np.lexsort((launches.slice[inside], step[inside]))]
    begins = np.flatnonzero(np.diff(step[order], prepend=-1))
    place[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return ServingWindows(sizes, place)


def _size(name: str) -> int:
    told = window(name)
    if told is None:
        return -1
    return next((size for size in (told.tokens, told.requests) if size), -1)
