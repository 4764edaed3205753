"""Graphs of a trace that were captured in another one: which captured launch each kernel is.

Definitions: ``docs/views-compiled.md#capture-traces``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.forests import gather, indices
from torch_tb_profiler.analysis.graphs.launches import graph_launches
from torch_tb_profiler.analysis.graphs.nodes import graph_nodes
from torch_tb_profiler.knowledge.demangling import demangled
from torch_tb_profiler.knowledge.phases import window
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_ALIGNED = 5000
"""Launches up to here are aligned by name where their numbers differ."""

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
    """

    frame: pl.DataFrame
    row: Int64
    has_shapes: Bools


@dataclass(frozen=True, slots=True)
class _Capture:
    """One captured graph: its rows in the frame, and what each launched, by kind and name."""

    rows: Int64
    batch_size: int | None
    kinds: tuple[str, ...]
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
    launches, nodes = graph_launches(trace), graph_nodes(trace)
    sizes = batch_sizes(trace)
    row = np.full(len(launches.row), -1)
    has_shapes = np.zeros(len(launches.row), np.bool_)
    for at, alike in _alike_launches(nodes.graph, sizes):
        by_node, fitting = _told(trace, captures, at)
        if not fitting:
            continue
        capture, places = _best(fitting, sizes[at])
        mapped = gather(capture.rows, places)
        is_sure = sizes[at] >= 0 and capture.batch_size is not None
        for each in alike.tolist():
            first, last = launches.first[each], launches.first[each + 1]
            row[first + _order(trace, each, by_node=by_node)] = mapped[: last - first]
            has_shapes[first:last] = is_sure or _same_shapes([each for each, _ in fitting])
    return CapturedWork(side.frame, row, has_shapes)


def _told(
    trace: Trace, captures: Sequence[_Capture], at: int
) -> tuple[bool, list[tuple[_Capture, Int64]]]:
    """Whether numbers of nodes tell the order of a launch, and the captures that it may be of."""
    for by_node in (True, False):
        fitting = _fitting(captures, *_work(trace, at, by_node=by_node))
        if fitting:
            return by_node, fitting
    return False, []


def _captures(frame: pl.DataFrame) -> list[_Capture]:
    keys = frame.select("capture", "graph").rows()
    found: list[_Capture] = []
    for _, group in groupby(range(frame.height), key=lambda row: keys[row]):
        rows = np.array(list(group), np.int64)
        part = frame[rows]
        found.append(
            _Capture(
                rows,
                part["batch_size"][0],
                tuple(map(_kind_of_call, part["call"].to_list())),
                tuple(part["kernel"].to_list()),
                tuple(part["input_shapes"].to_list()),
            )
        )
    return found


def _kind_of_call(call: str) -> str:
    if "Memcpy" in call:
        return "copy"
    return "set" if "Memset" in call else "kernel"


def _alike_launches(graph: Int64, sizes: Int64) -> list[tuple[int, Int64]]:
    """The first launch of each graph and batch size, with all launches that are like it."""
    pairs = np.stack((graph, sizes), axis=1)
    _, first, number = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    return [(int(at), np.flatnonzero(number == place)) for place, at in enumerate(first.tolist())]


def _order(trace: Trace, at: int, *, by_node: bool) -> Int64:
    """The order of a launch's work as it was captured: nodes are numbered in that order; where the
    recorder wrote no numbers, as it ran."""
    launches = graph_launches(trace)
    first, last = launches.first[at], launches.first[at + 1]
    node = launches.node[first:last]
    if by_node and (node >= 0).all():
        return np.argsort(node, kind="stable")
    return np.arange(last - first)


def _work(trace: Trace, at: int, *, by_node: bool) -> tuple[list[str], list[str]]:
    """Kind and name of the work of a launch, in order."""
    launches = graph_launches(trace)
    order = _order(trace, at, by_node=by_node)
    rows = launches.row[launches.first[at] : launches.first[at + 1]][order]
    category = trace.device_work["category"].to_numpy()[rows]
    names = trace.device_work["name_code"].to_numpy()[rows]
    kinds = [_KINDS.get(Category(each), "kernel") for each in category.tolist()]
    return kinds, [str(trace.strings[name]) for name in names.tolist()]


def _fitting(
    captures: Sequence[_Capture], kinds: list[str], names: list[str]
) -> list[tuple[_Capture, Int64]]:
    """The captures that a launch may be a replay of: per kernel its place in the capture."""
    exact = [
        (capture, np.arange(len(names))) for capture in captures if _is_same(capture, kinds, names)
    ]
    if exact or len(names) > MAX_ALIGNED:
        return exact
    aligned = ((capture, _aligned(capture, names)) for capture in captures)
    return [(capture, places) for capture, places in aligned if places is not None]


def _is_same(capture: _Capture, kinds: list[str], names: list[str]) -> bool:
    """Whether as many were captured, each of the same kind and, where it has one, name."""
    return list(capture.kinds) == kinds and all(
        kernel is None or kind != "kernel" or _is_name(kernel, name)
        for kernel, kind, name in zip(capture.kernels, kinds, names, strict=True)
    )


def _is_name(kernel: str, name: str) -> bool:
    return kernel == name or demangled(kernel) == demangled(name)


def _aligned(capture: _Capture, names: list[str]) -> Int64 | None:
    """Per kernel its place in a capture of another length, -1 for none; None where they differ too
    much, or where the capture names too little."""
    kernels = [kernel or "" for kernel in capture.kernels]
    if len(kernels) > MAX_ALIGNED or sum(map(bool, kernels)) < LEAST_ALIKE * len(kernels):
        return None
    matcher = SequenceMatcher(None, kernels, names, autojunk=False)
    if matcher.real_quick_ratio() < LEAST_ALIKE or matcher.quick_ratio() < LEAST_ALIKE:
        return None
    if matcher.ratio() < LEAST_ALIKE:
        return None
    places = np.full(len(names), -1)
    for block in matcher.get_matching_blocks():
        places[block.b : block.b + block.size] = np.arange(block.a, block.a + block.size)
    return places


def _best(fitting: Sequence[tuple[_Capture, Int64]], size: int) -> tuple[_Capture, Int64]:
    """The capture of the smallest batch that holds a launch's; the first where that is not
    known."""
    if size < 0:
        return fitting[0]
    batches = [capture.batch_size or 0 for capture, _ in fitting]
    holding = [batch for batch in batches if batch >= size]
    return fitting[batches.index(min(holding))] if holding else fitting[0]


def _same_shapes(captures: Sequence[_Capture]) -> bool:
    return len({capture.shapes for capture in captures}) == 1


@per_trace
def batch_sizes(trace: Trace) -> Int64:
    """Per launch of a graph the tokens, else requests, that the range around it is of; -1 where
    none tells."""
    launches = graph_launches(trace)
    parent = indices(trace.slices["parent"])
    names = trace.slices["name_code"].to_numpy()
    sizes = np.full(launches.count, -1)
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
        at[left] = parent[at[left]]
    return sizes


def _size(name: str) -> int:
    told = window(name)
    if told is None:
        return -1
    for size in (told.tokens, told.requests):
        if size:
            return size
    return -1
