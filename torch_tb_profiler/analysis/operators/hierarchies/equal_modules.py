"""Modules of one class and structure beside each other, compared: which one of them is odd.

Definitions: ``docs/views-groups.md#equal-siblings``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.operators.hierarchies.timed import timed_modules
from torch_tb_profiler.analysis.operators.hierarchies.times import NodeMeasure, node_times
from torch_tb_profiler.analysis.operators.hierarchies.twins import (
    Outlier,
    class_name,
    outlier,
    twin_groups,
)
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.model import Trace


class EqualModules(Struct, frozen=True, eq=False):
    """Modules that are equal, by their class and all that is below them, and have one parent.

    Attributes:
        name: Their class, ``DecoderLayer``.
        nodes: Nodes of the tree of modules, in order of first call.
        paths: Path of each.
        mean_ns: Mean time of each per iteration, forward and backward; NaN where it did not run.
        is_device_time: Whether that is device time; else, where no device was recorded, CPU time.
        odd: The one furthest from the others, None where they are fewer than three or all alike.
        odd_slice: Slice of the longest call of that one, None likewise.
    """

    name: str
    nodes: Int64
    paths: list[str]
    mean_ns: Float64
    is_device_time: bool
    odd: Outlier | None
    odd_slice: int | None


def equal_modules(trace: Trace, selection: Selection) -> list[EqualModules]:
    """All groups of equal modules, in order of first call.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    timed = timed_modules(trace)
    hierarchy = timed.hierarchy
    groups = twin_groups(hierarchy.nodes, hierarchy.first_outside)
    if not groups:
        return []
    times = node_times(trace, timed, selection)
    on_device = bool(times.measures["gpu"].ns.any())
    measure = times.measures["gpu" if on_device else "cpu"]
    mean = _means(measure, hierarchy.nodes.count, len(times.windows.names))
    equal_groups: list[EqualModules] = []
    for members in groups:
        odd = outlier(members, mean[members])
        equal_groups.append(
            EqualModules(
                class_name(hierarchy.nodes.name[int(members[0])]),
                members,
                [hierarchy.nodes.path[node] for node in members.tolist()],
                mean[members],
                on_device,
                odd,
                None if odd is None else _longest(trace, odd.node),
            )
        )
    return equal_groups


def _means(measure: NodeMeasure, nodes: int, iterations: int) -> Float64:
    total = np.zeros(nodes)
    np.add.at(total, measure.node, measure.ns)
    is_there = np.bincount(measure.node, minlength=nodes) > 0
    return np.where(is_there, total / max(iterations, 1), np.nan)


def _longest(trace: Trace, node: int) -> int:
    hierarchy = timed_modules(trace).hierarchy
    ranges = np.flatnonzero(hierarchy.call_node[hierarchy.range_call] == node)
    slices = hierarchy.range_slice[ranges]
    duration = trace.slices["dur_ns"].to_numpy()[slices]
    return int(slices[np.argmax(duration)])
