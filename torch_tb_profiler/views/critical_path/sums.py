"""Sums of paths by category and by name."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.idle.critical_path.node_names import (
    key_texts,
    node_keys,
    short_texts,
)
from torch_tb_profiler.analysis.idle.critical_path.parts import ON_DEVICE, PathPart
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.critical_path.columns import CATEGORIES, MEANINGS, OPERATORS, TITLES
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Table

BOTH_SIDES = (PathPart.LAUNCH, PathPart.SYNC_RETURN)
"""Parts that lie between host and device."""

PART_TITLES = {int(part): title for part, title in TITLES.items()}


class NameSums(Struct, frozen=True, eq=False):
    """Names on the paths of some steps, those with most time on the path first.

    Attributes:
        key: Keys of rows (``analysis.idle.critical_path.node_names``).
        path_ns: Time on the path.
        total_ns: Time of all nodes.
        pieces: Pieces on the path.
        part: What a row is, by most of its time.
    """

    key: Int64
    path_ns: Int64
    total_ns: Int64
    pieces: Int64
    part: Int64


def side_of(part: PathPart) -> str:
    """On which side a part lies."""
    if part in BOTH_SIDES:
        return "both"
    if part == PathPart.UNKNOWN:
        return "unknown"
    return "device" if part in ON_DEVICE else "host"


def part_times(paths: list[CriticalPath]) -> dict[PathPart, int]:
    """Nanoseconds of the paths per part."""
    times = dict.fromkeys(PathPart, 0)
    for path in paths:
        length = path.pieces.end_ns - path.pieces.start_ns
        for part in PathPart:
            times[part] += int(length[path.pieces.part == part].sum())
    return times


def categories_table(paths: list[CriticalPath]) -> Table:
    """The rows of ``CATEGORIES``: the categories that the paths have."""
    whole = sum(path.step_graph.graph.length_ns for path in paths)
    rows = []
    for part in PathPart:
        lengths = np.concatenate(
            [np.empty(0, np.int64)]
            + [(p.pieces.end_ns - p.pieces.start_ns)[p.pieces.part == part] for p in paths]
        )
        if not len(lengths):
            continue
        rows.append(
            {
                "category": part.name.lower(),
                "title": TITLES[part],
                "path_us": int(lengths.sum()) / NS_PER_US,
                "pct": 100 * int(lengths.sum()) / whole,
                "pieces": len(lengths),
                "longest_us": int(lengths.max()) / NS_PER_US,
                "side": side_of(part),
                "meaning": MEANINGS[part],
            }
        )
    frame = pl.DataFrame(rows, schema=CATEGORIES.polars_schema())
    return in_default_order(Table(CATEGORIES, frame))


def name_sums(trace: Trace, paths: list[CriticalPath]) -> NameSums:
    """The names of the nodes of some steps."""
    frames = []
    for path in paths:
        graph, pieces = path.step_graph.graph, path.pieces
        own = pieces.is_between == 0
        node, length = pieces.node[own], (pieces.end_ns - pieces.start_ns)[own]
        count = len(graph.chain)
        on_path = np.zeros(count, np.int64)
        on_path[node] = length
        frames.append(
            pl.DataFrame(
                {
                    "key": node_keys(trace, path.step_graph),
                    "path_ns": on_path,
                    "total_ns": graph.end_ns - graph.start_ns,
                    "pieces": (on_path > 0).astype(np.int64),
                    "part": path.step_graph.part,
                }
            )
        )
    if not frames:
        none = np.empty(0, np.int64)
        return NameSums(none, none, none, none, none)
    both = pl.concat(frames).group_by("key", "part").agg(pl.all().sum())
    of_key = (
        both.sort("total_ns", "part", descending=[True, False])
        .group_by("key", maintain_order=True)
        .agg(pl.col("path_ns", "total_ns", "pieces").sum(), pl.col("part").first())
        .filter((pl.col("path_ns") > 0) | (pl.col("part") != PathPart.UNKNOWN))
        .sort("path_ns", "total_ns", "key", descending=[True, True, False])
    )
    return NameSums(
        *(of_key[k].to_numpy() for k in ("key", "path_ns", "total_ns", "pieces", "part"))
    )


def operators_table(trace: Trace, sums: NameSums, whole_ns: int) -> Table:
    """The rows of ``OPERATORS``."""
    keys = sums.key.tolist()
    frame = pl.DataFrame(
        {
            "name": short_texts(trace, keys, PART_TITLES),
            "title": [PART_TITLES[part] for part in sums.part.tolist()],
            "path_us": sums.path_ns / NS_PER_US,
            "pct": 100.0 * sums.path_ns / max(whole_ns, 1),
            "total_us": sums.total_ns / NS_PER_US,
            "on_path_pct": 100.0 * sums.path_ns / np.maximum(sums.total_ns, 1),
            "pieces": sums.pieces,
            "full_name": key_texts(trace, keys, PART_TITLES),
        },
        schema=OPERATORS.polars_schema(),
    )
    return in_default_order(Table(OPERATORS, frame))
