"""The sums of a tree as slices, end to end.

A file says how often a kernel ran and how long in all, not when. Its calls become slices of its
mean duration, in the order of the tree; scopes are ranges around the slices of what is in them. So
sums, calls and means are those of the file; starts, and durations of single calls, are not
recorded, and the trace says so (``docs/format-proton.md#sums``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.proton.tree import ProtonTree, TreeNode
from torch_tb_profiler.importers.slice_arguments import ArgumentRows
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    ColumnArrays,
    Int64,
    Track,
    absent_table,
    empty_table,
)
from torch_tb_profiler.trace.quality import QualityReport

SCOPES = Track("program", "scopes", process_name="Program", thread_name="Scopes, without times")
LABELS = {"CUDA": "GPU", "HIP": "AMD GPU"}
"""Type of a device → how its tracks are labelled."""

RAW_SCOPE, RAW_KERNEL = "scope", "kernel"


class Layout(Struct):
    """Slices of a tree.

    Attributes:
        tables: The tables of the trace.
        strings: The texts.
        tracks: The tracks.
        owner: Per slice the row of the scope or the operator that it belongs to.
    """

    tables: dict[str, ColumnArrays]
    strings: list[str]
    tracks: list[Track]
    owner: Int64


class _Rows:
    """The slices of nodes, one each, before kernels are repeated."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.tracks: dict[tuple[str, int], int] = {}
        self.names: list[int] = []
        self.categories: list[int] = []
        self.track: list[int] = []


def lay_out(tree: ProtonTree, most_calls: int, quality: QualityReport) -> Layout:
    """The slices of a tree.

    Args:
        tree: The tree.
        most_calls: So many slices of kernels at most; calls beyond are merged.
        quality: Counts merged calls.
    """
    nodes = tree.nodes
    count = len(nodes)
    parent = np.array([node.parent for node in nodes], np.int64)
    time_ns = np.array([node.time_ns for node in nodes], np.int64)
    calls = _limited(np.array([node.calls for node in nodes], np.int64), most_calls, quality)
    start_ns, within_ns = _extents(parent, time_ns)
    strings = Interner()
    names = np.array([strings[node.name] for node in nodes], np.int32)
    is_kernel = calls > 0
    states_work = np.array([_states_work(node) for node in nodes], np.bool_)
    is_scope = (~is_kernel | _have_children(parent)) & (parent >= 0)
    is_operator = states_work & (parent >= 0)

    tracks, track_of = _tracks(nodes, is_kernel)
    scope_rows = np.flatnonzero(is_scope)
    operator_rows = np.flatnonzero(is_operator)
    kernel_rows = np.flatnonzero(is_kernel)
    repeated = np.repeat(kernel_rows, calls[kernel_rows])
    slices = _slices(
        [
            (Category.ANNOTATION, strings[RAW_SCOPE], names[scope_rows], start_ns[scope_rows],
             within_ns[scope_rows], np.zeros(scope_rows.size, np.int32)),
            (Category.OPERATOR, strings[RAW_SCOPE], names[operator_rows], start_ns[operator_rows],
             np.zeros(operator_rows.size, np.int64), np.zeros(operator_rows.size, np.int32)),
            (Category.KERNEL, strings[RAW_KERNEL], names[repeated],
             *_calls(start_ns, time_ns, calls, kernel_rows), track_of[repeated]),
        ]
    )  # fmt: skip
    scope_slice = np.full(count + 1, ABSENT)
    scope_slice[scope_rows] = np.arange(scope_rows.size)
    operator_slice = np.full(count + 1, ABSENT)
    operator_slice[operator_rows] = scope_rows.size + np.arange(operator_rows.size)
    owner_of_node = _owners(parent, scope_slice, operator_slice, is_scope)
    first_kernel = scope_rows.size + operator_rows.size
    owner = np.full(len(slices["start_ns"]), ABSENT)
    owner[first_kernel:] = owner_of_node[repeated]

    tables = {name: empty_table(name) for name in TABLE_COLUMNS} | {"slices": slices}
    devices = np.array([ABSENT if node.device is None else node.device for node in nodes], np.int64)
    tables["device"] = absent_table("device", repeated.size) | {
        "slice": first_kernel + np.arange(repeated.size),
        "device": devices[repeated],
        "stream": np.zeros(repeated.size, np.int64),
    }
    tables["stated"] = absent_table("stated", operator_rows.size) | {
        "slice": operator_slice[operator_rows],
        "flops": np.array([nodes[row].flops for row in operator_rows.tolist()], np.float64),
        "bytes": np.array([nodes[row].bytes for row in operator_rows.tolist()], np.float64),
    }
    tables["arguments"] = _arguments(nodes, scope_slice, operator_slice, strings)
    return Layout(tables, list(strings), tracks, owner)


def _states_work(node: TreeNode) -> bool:
    return not (math.isnan(node.flops) and math.isnan(node.bytes))


def _have_children(parent: Int64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    has = np.zeros(parent.size + 1, np.bool_)
    has[parent] = True
    return has[:-1]


def _limited(calls: Int64, most: int, quality: QualityReport) -> Int64:
    """The calls of each node, fewer of those with the most where there are too many."""
    total = int(np.minimum(calls, 2**40).sum())
    if total <= most:
        return calls
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(calls, middle).sum()) <= most:
            low = middle
        else:
            high = middle - 1
    limited = np.minimum(calls, low)
    quality.add("calls_merged", int((limited < calls).sum()))
    return limited


def _extents(parent: Int64, time_ns: Int64) -> tuple[Int64, Int64]:
    """Start of each node, and the time of all in it: nodes follow one another in their order."""
    ends = np.cumsum(time_ns)
    starts = ends - time_ns
    last = ends.copy()
    for row in range(parent.size - 1, -1, -1):
        above = parent[row]
        if above >= 0 and last[row] > last[above]:
            last[above] = last[row]
    return starts, last - starts


def _calls(start_ns: Int64, time_ns: Int64, calls: Int64, rows: Int64) -> tuple[Int64, Int64]:
    """Start and duration of each call of kernels: equal shares, whose sum is exact."""
    count = calls[rows]
    number = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    share, rest = np.repeat(time_ns[rows] // count, count), np.repeat(time_ns[rows] % count, count)
    start = np.repeat(start_ns[rows], count) + number * share + np.minimum(number, rest)
    return start, share + (number < rest)


def _slices(parts: list[tuple[Any, ...]]) -> ColumnArrays:
    tables = []
    for category, raw, name, start, dur, track in parts:
        tables.append(
            absent_table("slices", name.size)
            | {
                "category": np.full(name.size, category, np.int8),
                "raw_category_code": np.full(name.size, raw, np.int32),
                "name_code": name.astype(np.int32),
                "track": track.astype(np.int32),
                "start_ns": start,
                "dur_ns": dur,
            }
        )
    return {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}


def _tracks(nodes: list[TreeNode], is_kernel: Any) -> tuple[list[Track], Any]:
    """The tracks, that of scopes first, and the track of each kernel."""
    tracks, known = [SCOPES], {}
    track_of = np.zeros(len(nodes), np.int32)
    for row in np.flatnonzero(is_kernel).tolist():
        node = nodes[row]
        key = node.device_type or "", -1 if node.device is None else node.device
        if key not in known:
            known[key] = len(tracks)
            number = "" if node.device is None else str(node.device)
            label = f"{LABELS.get(key[0], 'GPU')} {number}".strip()
            tracks.append(
                Track(number or "device", "0", process_name=label, process_label=label,
                      thread_name="kernels, without times")
            )  # fmt: skip
        track_of[row] = known[key]
    return tracks, track_of


def _owners(parent: Int64, scope: Int64, operator: Int64, is_scope: Any) -> Int64:
    """Per node the slice that its kernels belong to: the nearest operator at or above it, else the
    nearest scope."""
    owner = np.full(parent.size, ABSENT)
    nearest_operator = np.full(parent.size, ABSENT)
    for row, above in enumerate(parent.tolist()):
        inherited = nearest_operator[above] if above >= 0 else ABSENT
        nearest_operator[row] = operator[row] if operator[row] != ABSENT else inherited
        around = owner[above] if above >= 0 else ABSENT
        owner[row] = scope[row] if is_scope[row] else around
    return np.where(nearest_operator != ABSENT, nearest_operator, owner)


def _arguments(
    nodes: list[TreeNode], scope: Int64, operator: Int64, strings: Interner
) -> ColumnArrays:
    rows = ArgumentRows(strings.__getitem__)
    for number, node in enumerate(nodes):
        slice_row = scope[number] if scope[number] != ABSENT else operator[number]
        if slice_row != ABSENT:
            for key, value in node.values.items():
                rows.add(int(slice_row), key, value)
    return rows.table()
