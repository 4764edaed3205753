"""Graphs that another trace shows being captured: the captured launch of each kernel.

Definitions: ``docs/views-compiled.md#capture-traces``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from heapq import nsmallest
from itertools import groupby

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import (
    distinct_values,
    factorize_rows,
    order_by_id,
)
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.phases import serving_window
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_ALIGNED = 2000
"""Launches with up to so many kernels are aligned by name where the numbers of kernels differ; the
alignment takes quadratic time."""

MAX_CANDIDATES = 8
"""At most so many captures are aligned, those nearest in number of kernels."""

MIN_SIMILARITY = 0.9
"""Similarity that two sequences of different lengths must have."""

MAX_DEPTH = 64
_KINDS = {Category.MEMCPY: "copy", Category.MEMSET: "set"}


class CapturedWork(Struct, frozen=True, eq=False):
    """The captured launches of the work of graphs.

    Attributes:
        frame: The rows of the side table ``captured_kernels``.
        row: Per row of ``GraphLaunches.row`` its row of ``frame``, -1 for none.
        has_shapes: Per row of ``GraphLaunches.row`` whether its shapes are known, too: captures of
            several batch sizes may fit a launch whose batch size is unknown.
        has_module: Likewise of its module: several graphs of one capture (one per layer, say) may
            fit a launch whose position in its step is unknown.
    """

    frame: pl.DataFrame
    row: Int64
    has_shapes: Bools
    has_module: Bools


class _Capture(Struct, frozen=True):
    """One captured graph: its rows in the frame, its file and index there, and the kernel and
    shapes of each row."""

    rows: Int64
    file: str
    graph: int
    batch_size: int | None
    kernels: tuple[str | None, ...]
    shapes: tuple[str | None, ...]


@per_trace
def captured_work(trace: Trace) -> CapturedWork | None:
    """The captured launches of the work of all graphs; None where the trace has no capture file."""
    side = trace.side.get("captured_kernels")
    if side is None or side.frame.is_empty():
        return None
    captures = _captures(side.frame)
    launches, windows = graph_launches(trace), serving_windows(trace)
    row = np.full(len(launches.row), -1)
    has_shapes, has_module = np.zeros((2, len(launches.row)), np.bool_)
    cache: dict[tuple[tuple[str, ...], ...], list[tuple[_Capture, Int64]]] = {}
    for launch, equal in _equal_launches(graph_nodes(trace).graph, windows):
        by_node, candidates = _candidates(trace, captures, launch, cache)
        if not candidates:
            continue
        size, index = int(windows.size[launch]), int(windows.index[launch])
        capture, positions, is_unique = _best(candidates, size, index)
        mapped = gather(capture.rows, positions)
        with_shapes = (size >= 0 and capture.batch_size is not None) or _same_shapes(candidates)
        for each in equal.tolist():
            first, last = launches.first[each], launches.first[each + 1]
            row[first + _order(trace, each, by_node=by_node)] = mapped[: last - first]
            has_shapes[first:last], has_module[first:last] = with_shapes, is_unique
    return CapturedWork(side.frame, row, has_shapes, has_module)


def _candidates(
    trace: Trace,
    captures: Mapping[tuple[str, ...], Sequence[_Capture]],
    launch: int,
    cache: dict[tuple[tuple[str, ...], ...], list[tuple[_Capture, Int64]]],
) -> tuple[bool, list[tuple[_Capture, Int64]]]:
    """Whether node numbers give the order of a launch, and the captures that fit it; computed once
    for launches of the same kernels."""
    for by_node in (True, False):
        work = _work(trace, launch, by_node=by_node)
        if work not in cache:
            cache[work] = _fitting(captures, *work)
        if cache[work]:
            return by_node, cache[work]
    return False, []


def _captures(frame: pl.DataFrame) -> dict[tuple[str, ...], list[_Capture]]:
    """The captured graphs, by the kinds of their work."""
    keys = frame.select("capture", "graph").rows()
    captures: dict[tuple[str, ...], list[_Capture]] = {}
    for (file, graph), group in groupby(range(frame.height), key=lambda row: keys[row]):
        rows = np.array(list(group), np.int64)
        part = frame[rows]
        kinds = tuple(map(_call_kind, part["call"].to_list()))
        capture = _Capture(
            rows,
            file,
            graph,
            part["batch_size"][0],
            tuple(part["kernel"].to_list()),
            tuple(part["input_shapes"].to_list()),
        )
        captures.setdefault(kinds, []).append(capture)
    return captures


def _call_kind(call: str) -> str:
    if "Memcpy" in call:
        return "copy"
    return "set" if "Memset" in call else "kernel"


def _equal_launches(graph: Int64, windows: ServingWindows) -> list[tuple[int, Int64]]:
    """The first launch of each graph, batch size and position in the step, with all equal ones."""
    first, group = factorize_rows(graph, windows.size, windows.index)
    groups = np.split(order_by_id(group), np.cumsum(np.bincount(group))[:-1])
    return list(zip(first.tolist(), groups, strict=True))


def _order(trace: Trace, launch: int, *, by_node: bool) -> Int64:
    """The order in which a launch's work was captured: by node number; by start where the recorder
    wrote no numbers."""
    launches = graph_launches(trace)
    first, last = launches.first[launch], launches.first[launch + 1]
    node = launches.node[first:last]
    if by_node and (node >= 0).all():
        return np.argsort(node, kind="stable")
    return np.arange(last - first)


def _work(trace: Trace, launch: int, *, by_node: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Kind and name of the work of a launch, in order."""
    launches = graph_launches(trace)
    order = _order(trace, launch, by_node=by_node)
    rows = launches.row[launches.first[launch] : launches.first[launch + 1]][order]
    category = trace.device_work["category"].to_numpy()[rows]
    names = trace.device_work["name_code"].to_numpy()[rows]
    kinds = tuple(_KINDS.get(Category(each), "kernel") for each in category.tolist())
    return kinds, tuple(str(trace.strings[name]) for name in names.tolist())


def _fitting(
    captures: Mapping[tuple[str, ...], Sequence[_Capture]],
    kinds: tuple[str, ...],
    names: tuple[str, ...],
) -> list[tuple[_Capture, Int64]]:
    """The captures that a launch may replay, with the position of each kernel in them: those with
    the same kinds in order and, where recorded, the same names; else those with similar names."""
    exact = [
        (capture, np.arange(len(names)))
        for capture in captures.get(kinds, ())
        if _names_match(capture.kernels, kinds, names)
    ]
    if exact or len(names) > MAX_ALIGNED:
        return exact
    every = (capture for group in captures.values() for capture in group)
    nearest = nsmallest(MAX_CANDIDATES, every, key=lambda each: abs(len(each.rows) - len(names)))
    aligned = ((capture, _align(capture, names)) for capture in nearest)
    return [(capture, positions) for capture, positions in aligned if positions is not None]


def _names_match(
    kernels: tuple[str | None, ...], kinds: tuple[str, ...], names: tuple[str, ...]
) -> bool:
    return all(
        kernel is None or kind != "kernel" or _is_same_name(kernel, name)
        for kernel, kind, name in zip(kernels, kinds, names, strict=True)
    )


def _is_same_name(kernel: str, name: str) -> bool:
    return kernel == name or demangled(kernel) == demangled(name)


def _align(capture: _Capture, names: tuple[str, ...]) -> Int64 | None:
    """Per kernel its position in a capture of another length, -1 for none; None where they differ
    too much, or where the capture has too few names."""
    kernels = [kernel or "" for kernel in capture.kernels]
    if len(kernels) > MAX_ALIGNED or sum(map(bool, kernels)) < MIN_SIMILARITY * len(kernels):
        return None
    matcher = SequenceMatcher(None, kernels, list(names), autojunk=False)
    if matcher.real_quick_ratio() < MIN_SIMILARITY or matcher.quick_ratio() < MIN_SIMILARITY:
        return None
    if matcher.ratio() < MIN_SIMILARITY:
        return None
    positions = np.full(len(names), -1)
    for block in matcher.get_matching_blocks():
        positions[block.b : block.b + block.size] = np.arange(block.a, block.a + block.size)
    return positions


def _best(
    candidates: Sequence[tuple[_Capture, Int64]], size: int, index: int
) -> tuple[_Capture, Int64, bool]:
    """The capture of the smallest batch that is large enough for a launch (the first where its size
    is unknown), and of several graphs in its file the one at the launch's position in its step; and
    whether that is unique."""
    batches = [capture.batch_size or 0 for capture, _ in candidates]
    large_enough = [batch for batch in batches if size >= 0 and batch >= size]
    best = candidates[batches.index(min(large_enough)) if large_enough else 0][0]
    same_file = [each for each in candidates if each[0].file == best.file]
    same_index = [each for each in same_file if each[0].graph == index]
    capture, positions = (same_index or same_file)[0]
    return capture, positions, len(same_file) == 1 or bool(same_index)


def _same_shapes(candidates: Sequence[tuple[_Capture, Int64]]) -> bool:
    return len({capture.shapes for capture, _ in candidates}) == 1


class ServingWindows(Struct, frozen=True, eq=False):
    """The server steps of launches of graphs.

    Attributes:
        size: Per launch the tokens, else requests, of its step; -1 where none is around it.
        index: Index of the launch in its step; -1 likewise.
    """

    size: Int64
    index: Int64


@per_trace
def serving_windows(trace: Trace) -> ServingWindows:
    """The server steps around all launches of graphs, from the names of ranges."""
    launches = graph_launches(trace)
    parent = indices(trace.slices["parent"])
    names = trace.slices["name_code"].to_numpy()
    sizes, step = np.full((2, launches.count), -1)
    around = gather(parent, launches.slice)
    known: dict[int, int] = {}
    for _ in range(MAX_DEPTH):
        rest = np.flatnonzero((around >= 0) & (sizes < 0))
        if not len(rest):
            break
        for code in distinct_values(names[around[rest]]).tolist():
            if code not in known:
                known[code] = _size(str(trace.strings[code]))
        sizes[rest] = [known[code] for code in names[around[rest]].tolist()]
        step[rest] = around[rest]
        around[rest] = parent[around[rest]]
    index = np.full(launches.count, -1)
    inside = np.flatnonzero(sizes >= 0)
    order = inside[np.lexsort((launches.slice[inside], step[inside]))]
    begins = np.flatnonzero(np.diff(step[order], prepend=-1))
    index[order] = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return ServingWindows(sizes, index)


def _size(name: str) -> int:
    step = serving_window(name)
    if step is None:
        return -1
    return next((size for size in (step.tokens, step.requests) if size), -1)
