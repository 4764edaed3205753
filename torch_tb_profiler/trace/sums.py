"""Sums over the node trees: absorbed duplicates, host self time, device self and total time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from torch_tb_profiler.trace.blocks import blocks
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant
from torch_tb_profiler.trace.links import DeviceWork, HostCalls
from torch_tb_profiler.trace.nesting import Forest
from torch_tb_profiler.trace.ordering import OrderedSlices


def absorb(slices: OrderedSlices, nodes: Forest) -> Int64:
    """Per slice the operator that absorbs it, -1 for most.

    An operator that is the only child node of an operator of the same name is the same call
    recorded twice; chains are absorbed by their topmost one, which loses no kernel.
    """
    size = len(slices.start_ns)
    inner = nodes.ids[nodes.parent >= 0]
    outer = nodes.parent[nodes.parent >= 0]
    children = np.bincount(outer, minlength=size)
    is_duplicate = (
        (slices.category[inner] == Category.OPERATOR)
        & (slices.category[outer] == Category.OPERATOR)
        & (slices.name_code[inner] == slices.name_code[outer])
        & (children[outer] == 1)
    )
    duplicates = inner[is_duplicate]
    if not len(duplicates):
        return constant(-1, size, np.int64)
    absorber = np.full(size, -1, np.int64)
    absorber[duplicates] = outer[is_duplicate]
    while len(duplicates):
        absorber_of = absorber[absorber[duplicates]]
        duplicates, absorber_of = duplicates[absorber_of >= 0], absorber_of[absorber_of >= 0]
        absorber[duplicates] = absorber_of
    return absorber


def resolve(absorber: Int64, owner: Int64) -> Int64:
    """``owner`` with absorbed operators replaced by their absorbers; -1 stays."""
    if len(absorber) == 0 or is_constant(absorber):  # nothing is absorbed
        return owner
    absorber_of = np.where(owner >= 0, absorber[owner], -1)
    return np.where(absorber_of >= 0, absorber_of, owner)


def host_self(slices: OrderedSlices, nodes: Forest, calls: HostCalls, absorber: Int64) -> Int64:
    """Per slice the time of a node that is in none of its child nodes and none of its own calls.

    Duration − Σ children − Σ own calls (``docs/metrics.md#operators``). Children and calls that
    exceed the node are clipped to its end, a call inside another call counts once, and the result
    is never negative. The time of an absorbed operator goes to its absorber. Nodes only; 0
    elsewhere.
    """
    used = np.zeros(len(slices.start_ns), np.int64)
    outermost = calls.enclosing
    if not is_constant(calls.within.parent):
        outermost = np.where(calls.within.parent < 0, outermost, -1)
    for parts, wholes in ((nodes.ids, nodes.parent), (calls.ids, outermost)):
        for some in blocks(len(parts)):
            is_inside = wholes[some] >= 0
            part, whole = parts[some][is_inside], wholes[some][is_inside]
            inside = np.minimum(slices.end_ns[part], slices.end_ns[whole]) - slices.start_ns[part]
            np.add.at(used, whole, inside)
    own_ns = used  # nonzero for nodes only: nothing else contains slices
    own_ns[nodes.ids] = np.maximum(slices.dur_ns[nodes.ids] - used[nodes.ids], 0)
    duplicates = np.flatnonzero(absorber >= 0)
    np.add.at(own_ns, absorber[duplicates], own_ns[duplicates])
    own_ns[duplicates] = 0
    return own_ns


def device_sums(
    slices: OrderedSlices, nodes: Forest, work: Int64, owner: Int64
) -> tuple[Int64, Int64]:
    """Per slice (device self, device total) of nodes, from ``work`` ids and their owners.

    Self is the plain sum of the device work a node owns (parallel streams are not merged), total
    adds the totals of the children, level by level from the deepest.
    """
    own_ns = np.zeros(len(slices.start_ns), np.int64)
    for some in blocks(len(work)):
        owned = owner[some] >= 0
        np.add.at(own_ns, owner[some][owned], slices.dur_ns[work[some][owned]])
    total = np.zeros(len(own_ns), np.int64)
    total[nodes.ids] = own_ns[nodes.ids]
    for level in _levels_from_the_deepest(nodes):
        np.add.at(total, nodes.parent[level], total[nodes.ids[level]])
    return own_ns, total


def device_of_inner_ranges(slices: OrderedSlices, nodes: Forest, work: DeviceWork) -> Int64:
    """Per slice the device work of ranges that an operator around them owns: work launched inside a
    range belongs to its total, too. It is no part of anybody's self time."""
    inner = np.flatnonzero(work.node != work.owner)
    if not len(inner):
        return constant(0, len(slices.start_ns), np.int64)
    total = np.zeros(len(slices.start_ns), np.int64)
    np.add.at(total, work.node[inner], slices.dur_ns[work.ids[inner]])
    is_operator = slices.mask_of((Category.OPERATOR, Category.PYTHON_OPERATOR))
    for level in _levels_from_the_deepest(nodes):
        inside = level[~is_operator[nodes.parent[level]]]
        np.add.at(total, nodes.parent[inside], total[nodes.ids[inside]])
    return total


def _levels_from_the_deepest(nodes: Forest) -> Iterator[Int64]:
    """Rows of the forest that have a parent, level by level."""
    order = np.argsort(nodes.depth)
    last_level = int(nodes.depth.max(initial=0))
    levels = np.searchsorted(nodes.depth[order], np.arange(1, last_level + 2))
    for low, high in reversed(list(pairwise(levels.tolist()))):
        yield order[low:high]
