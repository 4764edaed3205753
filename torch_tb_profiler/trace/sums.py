"""Sums over the node trees: collapsed doubles, host self time, device self and total time."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.links import Links
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.ordering import OrderedSlices


def absorb(slices: OrderedSlices, nodes: Forest) -> Int64:
    """Per slice the operator that absorbs it, -1 for most.

    An operator that is the only child node of an operator of the same name is the same call seen
    twice; chains are absorbed by their top (peer-behaviour §2.6, with no kernel lost).
    """
    absorber = np.full(len(slices.start_ns), -1, np.int64)
    inner = nodes.ids[nodes.parent >= 0]
    outer = nodes.parent[nodes.parent >= 0]
    children = np.bincount(outer, minlength=len(absorber))
    double = (
        (slices.category[inner] == Category.OPERATOR)
        & (slices.category[outer] == Category.OPERATOR)
        & (slices.name_code[inner] == slices.name_code[outer])
        & (children[outer] == 1)
    )
    doubles = inner[double]
    absorber[doubles] = outer[double]
    while len(doubles):
        above = absorber[absorber[doubles]]
        doubles, above = doubles[above >= 0], above[above >= 0]
        absorber[doubles] = above
    return absorber


def resolve(absorber: Int64, owner: Int64) -> Int64:
    """``owner`` with absorbed operators replaced by what absorbs them; -1 stays."""
    if len(absorber) == 0:
        return owner
    above = np.where(owner >= 0, absorber[owner], -1)
    return np.where(above >= 0, above, owner)


def host_self(slices: OrderedSlices, nodes: Forest, links: Links, absorber: Int64) -> Int64:
    """Per slice the time of a node that is in no child node and in no runtime call of its own.

    Duration − Σ children − Σ own calls (peer-behaviour §2.6). Children and calls that stick out
    are cut at the node's end, a call inside another call counts once, and the result is never
    negative. What an absorbed operator has goes to its absorber. Nodes only; 0 elsewhere.
    """
    size = len(slices.start_ns)
    inner = nodes.ids[nodes.parent >= 0]
    calls, places = _outermost_calls(slices, links)
    used = np.zeros(size, np.int64)
    for part, whole in ((inner, nodes.parent[nodes.parent >= 0]), (calls, places)):
        inside = np.minimum(slices.end_ns[part], slices.end_ns[whole]) - slices.start_ns[part]
        np.add.at(used, whole, inside)
    own = np.zeros(size, np.int64)
    own[nodes.ids] = np.maximum(slices.dur_ns[nodes.ids] - used[nodes.ids], 0)
    return _moved_to_absorber(own, absorber)


def _outermost_calls(slices: OrderedSlices, links: Links) -> tuple[Int64, Int64]:
    """Calls that lie in a node and not in another call, with their nodes."""
    calls, places = links.calls, links.call_place
    if len(calls) == 0:
        return calls, places
    track_end = slices.end_ns[calls].copy()
    first = np.flatnonzero(np.diff(slices.track[calls], prepend=-1))
    for low, high in zip(first, np.append(first[1:], len(calls)), strict=True):
        np.maximum.accumulate(track_end[low:high], out=track_end[low:high])
    outermost = np.ones(len(calls), np.bool_)
    outermost[1:] = track_end[:-1] < slices.end_ns[calls[1:]]
    outermost[1:] |= slices.start_ns[calls[1:]] >= track_end[:-1]
    outermost[first] = True
    kept = outermost & (places >= 0)
    return calls[kept], places[kept]


def _moved_to_absorber(values: Int64, absorber: Int64) -> Int64:
    doubles = np.flatnonzero(absorber >= 0)
    np.add.at(values, absorber[doubles], values[doubles])
    values[doubles] = 0
    return values


def device_sums(
    slices: OrderedSlices, nodes: Forest, work: Int64, owner: Int64
) -> tuple[Int64, Int64]:
    """Per slice (device self, device total) of nodes.

    Self is the plain sum of the device work a node owns (parallel streams are not merged), total
    adds the totals of the children, level by level from the deepest.
    """
    own = np.zeros(len(slices.start_ns), np.int64)
    owned = owner >= 0
    np.add.at(own, owner[owned], slices.dur_ns[work[owned]])
    total = own.copy()
    order = np.argsort(nodes.depth, kind="stable")
    levels = np.searchsorted(nodes.depth[order], np.arange(1, int(nodes.depth.max(initial=0)) + 2))
    for low, high in reversed(list(zip(levels[:-1], levels[1:], strict=True))):
        level = order[low:high]
        np.add.at(total, nodes.parent[level], total[nodes.ids[level]])
    return own, total
