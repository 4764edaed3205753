"""The tracks of the timeline from top to bottom, and in which of them each slice lies."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.device_terms import device_word
from torch_tb_profiler.trace.categories import (
    DEVICE_WORK_CATEGORIES,
    NODE_CATEGORIES,
    PYTHON_CATEGORIES,
    Category,
)
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.timeline.curves import Curve

TrackKind = Literal[
    "steps",
    "merged",
    "counter",
    "annotations",
    "device_stream",
    "operators",
    "python",
    "runtime",
    "other",
    "levels",
]
GroupKind = Literal["trace", "process", "device", "levels"]
Unit = Literal["pct", "bytes", "count", "gb_per_s"]


class Tree(IntEnum):
    """The slices of one row of the trace that are drawn apart; the order is from top to bottom."""

    STEPS = 0
    DEVICE_ANNOTATIONS = 1
    WORK = 2
    NODES = 3
    NATIVE = 4
    PYTHON = 5
    OTHER = 6
    OTHER_RECORDING = 7


TREE_COUNT = len(Tree)
_NAMES = {
    Tree.DEVICE_ANNOTATIONS: "annotations",
    Tree.WORK: "work",
    Tree.NODES: "operators",
    Tree.NATIVE: "native",
    Tree.PYTHON: "python",
    Tree.OTHER: "other",
    Tree.OTHER_RECORDING: "recording",
}


def _tree_of_category() -> Int32:
    tree = np.full(len(Category), Tree.OTHER, np.int32)
    tree[list(NODE_CATEGORIES)] = Tree.NODES
    tree[[Category.RUNTIME]] = Tree.NODES
    tree[list(PYTHON_CATEGORIES)] = Tree.PYTHON
    tree[list(DEVICE_WORK_CATEGORIES)] = Tree.WORK
    tree[[Category.DEVICE_ANNOTATION]] = Tree.DEVICE_ANNOTATIONS
    tree[[Category.STEP]] = Tree.STEPS
    tree[[Category.OTHER_RECORDING]] = Tree.OTHER_RECORDING
    return tree


_TREE_OF_CATEGORY = _tree_of_category()

LAYERS = {Tree.NODES: "Python", Tree.NATIVE: "C++"}
"""Trees of a thread of which the recorder separates two layers."""

_NATIVE_CATEGORIES = (Category.OPERATOR, Category.RUNTIME, Category.HOST_OTHER)
_NATIVE_TYPE = "communication"
"""Type of ranges that the native layer writes."""


def has_layers(trace: Trace) -> bool:
    """Whether the recorder says of each host event which of the two layers wrote it, as Paddle
    does."""
    return trace.meta.format == "paddle"


def trees_of(trace: Trace, chosen: Int64 | None = None) -> Int32:
    """The :class:`Tree` of every slice, or of the ``chosen`` ids."""
    columns = trace.slices.select("category", "raw_category_code")
    if chosen is not None:
        columns = columns[chosen]
    category = columns["category"].to_numpy()
    tree: Int32 = _TREE_OF_CATEGORY[category]
    if has_layers(trace):
        native = [code for code, text in enumerate(trace.strings) if text.lower() == _NATIVE_TYPE]
        is_native = np.isin(category, _NATIVE_CATEGORIES)
        is_native |= columns["raw_category_code"].is_in(native).fill_null(False).to_numpy()
        tree[is_native] = Tree.NATIVE
    return tree


class Group(Struct, frozen=True):
    """A process or a device with tracks below, or the trace itself."""

    key: str
    title: str
    kind: GroupKind
    device: int | None = None


GROUP_OF_LEVELS = Group("levels", "Groups by level", "levels")
"""The heading of tracks of levels."""


class TimelineTrack(Struct, frozen=True):
    """One row of the timeline; its place in the list is its number in binary answers.

    The fields: ``docs/internals.md``, "Timeline".
    """

    key: str
    title: str
    kind: TrackKind
    group: str
    subtitle: str | None = None
    help: str | None = None
    lanes: int = 0
    lane_titles: tuple[str, ...] | None = None
    overlap_from: int | None = None
    slices: int = 0
    collapsed: bool = False
    communication: bool = False
    device: int | None = None
    unit: Unit | None = None
    maximum: float | None = None
    unit_label: str | None = None


class Counter(Struct, frozen=True, eq=False):
    """A track and the course of its value, times from the origin."""

    track: TimelineTrack
    group: Group
    curve: Curve


class Placement(Struct, frozen=True):
    """Groups and tracks in display order, and the tracks of slices.

    Attributes:
        groups: Headings, from top to bottom.
        tracks: Tracks that hold slices, from top to bottom.
        rows: Track key → the row of the trace whose slices it holds; steps are of all rows.
        number: Track number of ``row × TREE_COUNT + tree``; -1 where there is none. Steps of all
            rows are in track 0.
    """

    groups: list[Group]
    tracks: list[TimelineTrack]
    rows: dict[str, int]
    number: Int32


class _Placing(Struct):
    groups: dict[str, Group] = field(default_factory=dict)
    tracks: list[TimelineTrack] = field(default_factory=list)
    held: dict[str, tuple[int, Tree]] = field(default_factory=dict)


STEPS_GROUP = Group("trace", "Trace", "trace")


def assign_tracks(trace: Trace) -> Placement:
    """The tracks that hold slices of ``trace``."""
    counts, calls = _slices_by_tree(trace)
    rows = trace.tracks.sort("sort_index").to_dicts()
    names = device_titles(trace)
    placing = _Placing()
    steps = int(counts[:, Tree.STEPS].sum())
    if steps:
        placing.groups["trace"] = STEPS_GROUP
        placing.tracks.append(
            TimelineTrack("steps", "Steps", kind="steps", group="trace", slices=steps)
        )
    for row in rows:
        in_tree = counts[row["track"]]
        if not in_tree[Tree.STEPS + 1 :].any():
            continue
        group = group_of_row(row, names)
        placing.groups.setdefault(group.key, group)
        for tree in list(Tree)[1:]:
            if in_tree[tree]:
                only_runtime = bool(in_tree[tree] == calls[row["track"]])
                track = _track(row, tree, group, runtime=only_runtime, layers=has_layers(trace))
                placing.tracks.append(replace(track, slices=int(in_tree[tree])))
                placing.held[track.key] = (row["track"], tree)
    groups = list(placing.groups.values())
    order = {group.key: position for position, group in enumerate(groups)}
    tracks = sorted(placing.tracks, key=lambda track: order[track.group])
    rows_held = {key: row for key, (row, _) in placing.held.items()}
    return Placement(groups, tracks, rows_held, _numbers(tracks, placing.held, trace))


def _slices_by_tree(trace: Trace) -> tuple[Int64, Int64]:
    """Slices per (row of the trace, tree), and calls into a device's runtime per row."""
    rows = max(trace.tracks.height, 1)
    track, category = trace.slices["track"].to_numpy(), trace.slices["category"].to_numpy()
    bounds = np.searchsorted(track, np.arange(rows + 1))
    tree = trees_of(trace)
    spans = [slice(*bounds[row : row + 2]) for row in range(rows)]
    trees = np.stack([np.bincount(tree[span], minlength=TREE_COUNT) for span in spans])
    return trees, np.array([np.sum(category[span] == Category.RUNTIME) for span in spans])


def _numbers(tracks: list[TimelineTrack], held: dict[str, tuple[int, Tree]], trace: Trace) -> Int32:
    number = np.full(max(trace.tracks.height, 1) * TREE_COUNT, -1, np.int32)
    for position, track in enumerate(tracks):
        if track.kind == "steps":
            number[Tree.STEPS :: TREE_COUNT] = position
        elif track.key in held:
            row, tree = held[track.key]
            number[row * TREE_COUNT + tree] = position
    return number


def device_titles(trace: Trace) -> dict[int, str]:
    """What each device is called: ``"GPU 0 (NVIDIA H100)"``."""
    word = device_word(trace)
    names = dict(trace.devices.select("device", "name").iter_rows())
    numbers = trace.tracks["device"].drop_nulls().unique().to_list()
    return {
        device: f"{word} {device}" + (f" ({name})" if (name := names.get(device)) else "")
        for device in {*names, *numbers}
    }


def group_of_row(row: dict[str, object], titles: dict[int, str]) -> Group:
    """The heading above one row of ``trace.tracks``, by :func:`device_titles`."""
    device = row["device"]
    if isinstance(device, int):
        return Group(f"d{device}", titles.get(device, f"GPU {device}"), "device", device)
    process, label, pid = row["process_name"], row["process_label"], row["pid"]
    title = " ".join(str(part) for part in (process, pid) if part) or "Process"
    return Group(f"p{pid}", title + (f" ({label})" if label else ""), "process")


def _track(
    row: dict[str, object], tree: Tree, group: Group, *, runtime: bool, layers: bool
) -> TimelineTrack:
    on_device = group.kind == "device"
    number = row["track"]
    kinds: dict[Tree, TrackKind] = {
        Tree.DEVICE_ANNOTATIONS: "annotations",
        Tree.WORK: "device_stream",
        Tree.NODES: "runtime" if runtime else "operators",
        Tree.NATIVE: "operators",
        Tree.PYTHON: "python",
        Tree.OTHER: "other",
        Tree.OTHER_RECORDING: "other",
    }
    subtitles = {
        Tree.DEVICE_ANNOTATIONS: "user ranges on the GPU",
        Tree.WORK: None,
        Tree.NODES: "runtime calls" if runtime else None,
        Tree.NATIVE: None,
        Tree.PYTHON: "python frames",
        Tree.OTHER: "synchronisation and others" if on_device else "profiler and others",
        Tree.OTHER_RECORDING: None,
    }
    stream, thread, tid = row["stream"], row["thread_name"], row["tid"]
    if on_device:
        title = str(thread or "").strip() or f"stream {stream if stream is not None else tid}"
    else:
        title = str(thread or "").strip() or f"thread {tid}"
    if layers and tree in LAYERS:  # in front, for names of threads are long
        title = f"{LAYERS[tree]} · {title}"
    return TimelineTrack(
        key=f"t{number}.{_NAMES[tree]}",
        title=title,
        subtitle=subtitles[tree],
        kind=kinds[tree],
        group=group.key,
        collapsed=tree in (Tree.PYTHON, Tree.OTHER),
        device=group.device,
    )


def track_of_slices(trace: Trace, placement: Placement, chosen: Int64 | None = None) -> Int32:
    """Track number of every slice, or of the ``chosen`` ids."""
    rows = trace.slices["track"]
    if chosen is not None:
        rows = rows.gather(pl.Series(chosen))
    key = rows.to_numpy() * np.int32(TREE_COUNT)
    key += trees_of(trace, chosen)
    numbers: Int32 = placement.number[key]
    return numbers
