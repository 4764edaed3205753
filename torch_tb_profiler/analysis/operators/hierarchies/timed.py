"""The hierarchies of a trace with all that their times need and no step decides; made once.

Cutting the recording into other iterations leaves these as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.grouped_intervals import union_by_group
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Climbed, Hierarchy, climb
from torch_tb_profiler.analysis.operators.hierarchies.of_call_stacks import call_stacks_hierarchy
from torch_tb_profiler.analysis.operators.hierarchies.of_modules import modules_hierarchy
from torch_tb_profiler.analysis.operators.hierarchies.of_ranges import (
    domains_of_ranges,
    ranges_hierarchy,
)
from torch_tb_profiler.analysis.operators.hierarchies.outside import with_outside
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class NodeStretches(Struct, frozen=True, eq=False):
    """Disjoint stretches of host time of nodes, by process, node and time.

    Attributes:
        process: Process of each, as ``trace.tracks`` numbers them; -1 for none.
        node: Node of each.
        start_ns: Start of each.
        end_ns: End of each.
    """

    process: Int64
    node: Int64
    start_ns: Int64
    end_ns: Int64


class PlacedWork(Struct, frozen=True, eq=False):
    """Device work at every node it is of; once in order of node and start, once of calls.

    Attributes:
        row: Row of ``trace.device_work``, in order of node and start.
        node: Node of each.
        row_by_call: Row of ``trace.device_work``, by call at its node and in order of launches.
        call_by_call: Call of each of those.
        node_by_call: Node of each of those.
    """

    row: Int64
    node: Int64
    row_by_call: Int64
    call_by_call: Int64
    node_by_call: Int64


class TimedHierarchy(Struct, frozen=True, eq=False):
    """A hierarchy, work outside it included.

    Attributes:
        hierarchy: The tree.
        host: When each node was in one of its ranges.
        api: When it was in a device API call inside them.
        work: The device work of each node.
    """

    hierarchy: Hierarchy
    host: NodeStretches
    api: NodeStretches
    work: PlacedWork


@per_trace
def timed_modules(trace: Trace) -> TimedHierarchy:
    """Modules; made once."""
    return _timed(trace, modules_hierarchy(trace))


@per_trace
def timed_call_stacks(trace: Trace) -> TimedHierarchy:
    """Call stacks; made once."""
    return _timed(trace, call_stacks_hierarchy(trace))


@per_trace
def timed_ranges(trace: Trace) -> dict[str, TimedHierarchy]:
    """User ranges by domain, in the order of
    :func:`~.of_ranges.domains_of_ranges`; made once."""
    return {
        domain: _timed(trace, ranges_hierarchy(trace, domain))
        for domain in domains_of_ranges(trace)
    }


def _timed(trace: Trace, inside: Hierarchy) -> TimedHierarchy:
    hierarchy = with_outside(trace, inside)
    host, api = host_stretches(trace, hierarchy)
    return TimedHierarchy(hierarchy, host, api, _placed(trace, hierarchy))


def host_stretches(
    trace: Trace, hierarchy: Hierarchy, chosen: Bools | None = None
) -> tuple[NodeStretches, NodeStretches]:
    """When each node was in one of its ranges, and in a device API call inside them.

    Args:
        trace: The trace.
        hierarchy: The tree.
        chosen: Mask over ``trace.slices`` of the ranges and calls that count; None for all.
    """
    slices = trace.slices
    start_ns = slices["start_ns"].to_numpy()
    end_ns = start_ns + slices["dur_ns"].to_numpy()
    ranges, range_call = hierarchy.range_slice, hierarchy.range_call
    is_api = (slices["category"].to_numpy() == Category.RUNTIME) & (hierarchy.around >= 0)
    if chosen is not None:
        is_api &= chosen
        ranges, range_call = ranges[chosen[ranges]], range_call[chosen[ranges]]
    api = np.flatnonzero(is_api)
    in_range = hierarchy.around[api]
    # A call that sticks out of its range by the rounding of the clock is cut where that ends.
    api_end_ns = np.minimum(end_ns[api], end_ns[hierarchy.range_slice[in_range]])
    count = hierarchy.nodes.count
    host = _Host(ranges, start_ns[ranges], end_ns[ranges])
    inside = _inside_parents(trace, hierarchy, host, range_call)
    of_ranges = _stretches(trace, climb(hierarchy, range_call, inside), count, host)
    # Only now, so that what is climbed for both is never in memory at once.
    of_api = climb(hierarchy, hierarchy.range_call[in_range])
    return (
        of_ranges,
        _stretches(trace, of_api, count, _Host(api, start_ns[api], api_end_ns)),
    )


class _Host(NamedTuple):
    """Host slices with start and end of each."""

    slice: Int64
    start_ns: Int64
    end_ns: Int64


def _inside_parents(trace: Trace, hierarchy: Hierarchy, host: _Host, range_call: Int64) -> Bools:
    """Which ranges lie in one of the call around theirs: what covers that covers them, so that
    they need not be looked at above. Of trees of great depth that is nearly all.

    Args:
        trace: The trace.
        hierarchy: The tree.
        host: The ranges.
        range_call: Call of each.
    """
    last = np.full(len(hierarchy.call_node) + 1, -1, np.int64)
    last[range_call] = np.arange(len(range_call))
    around = last[hierarchy.call_parent[range_call]]
    track = trace.slices["track"].to_numpy()[host.slice]
    inside: Bools = (
        (around >= 0)
        & (track[around] == track)
        & (host.start_ns[around] <= host.start_ns)
        & (host.end_ns[around] >= host.end_ns)
    )
    return inside


def _stretches(trace: Trace, placed: Climbed, nodes: int, host: _Host) -> NodeStretches:
    """What host slices cover of each node's time, those of several threads once."""
    track = trace.slices["track"].to_numpy()[host.slice]
    process = indices(trace.tracks["process"])[track]
    count = max(nodes, 1)
    group = (process[placed.element] + 1) * count + placed.node
    group, start, end = union_by_group(
        group, host.start_ns[placed.element], host.end_ns[placed.element]
    )
    return NodeStretches(group // count - 1, group % count, start, end)


def _placed(trace: Trace, hierarchy: Hierarchy) -> PlacedWork:
    work = trace.device_work
    placed = climb(hierarchy, hierarchy.work_call)
    start_ns = work["start_ns"].to_numpy()
    by_node = np.lexsort((start_ns[placed.element], placed.node))
    launch = indices(work["launch"])
    launch_ns = np.where(launch >= 0, trace.slices["start_ns"].to_numpy()[launch], start_ns)
    by_call = np.lexsort((launch_ns[placed.element], placed.node, placed.call))
    return PlacedWork(
        placed.element[by_node],
        placed.node[by_node],
        placed.element[by_call],
        placed.call[by_call],
        placed.node[by_call],
    )
