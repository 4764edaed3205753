"""Work outside every range of a hierarchy, as nodes of its own beside the tree.

An operator or a device call that no range is around is a call of ``unassociated_<name>``, device
work that nothing tells the launch of is one of ``unassociated_<kernel>``. The names with
most time have a node each, all others share one.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Hierarchy, Nodes
from torch_tb_profiler.analysis.operators.unattributed_work import UNASSOCIATED
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace

OTHERS = f"{UNASSOCIATED}others"
MAX_NODES = 20
"""Names that have a node of their own."""
MAX_NAME_CHARS = 200


def with_outside(trace: Trace, inside: Hierarchy) -> Hierarchy:
    """``inside`` with nodes for what is outside of it."""
    outermost = _outermost(trace, inside)
    in_outermost = nearest_marked(indices(trace.slices["parent"]), outermost)
    slices = np.flatnonzero(outermost)
    work = trace.device_work
    loose = np.flatnonzero(inside.work_call < 0)
    launch = indices(work["launch"])[loose]
    host_slice = gather(in_outermost, np.where(launch >= 0, launch, indices(work["owner"])[loose]))
    calls = len(inside.call_node)
    call_of_slice = np.full(trace.slices.height, -1, np.int64)
    call_of_slice[slices] = calls + np.arange(len(slices))
    work_call = inside.work_call.copy()
    of_launch = gather(call_of_slice, host_slice)
    unlaunched = np.flatnonzero(of_launch < 0)
    of_launch[unlaunched] = calls + len(slices) + np.arange(len(unlaunched))
    work_call[loose] = of_launch
    range_of_slice = np.full(trace.slices.height, -1, np.int64)
    range_of_slice[slices] = len(inside.range_slice) + np.arange(len(slices))
    names = np.concatenate(
        (
            trace.slices["name_code"].to_numpy()[slices],
            work["name_code"].to_numpy()[loose[unlaunched]],
        )
    ).astype(np.int64)
    weight = np.bincount(of_launch - calls, work["dur_ns"].to_numpy()[loose], minlength=len(names))
    weight[: len(slices)] += trace.slices["dur_ns"].to_numpy()[slices]
    node, added = _named(trace, names, weight)
    nothing = np.full(len(names), -1, np.int64)
    return replace(
        inside,
        nodes=_joined(inside.nodes, added),
        call_node=np.concatenate((inside.call_node, inside.nodes.count + node)),
        call_parent=np.concatenate((inside.call_parent, nothing)),
        call_slice=np.concatenate((inside.call_slice, slices, nothing[len(slices) :])),
        range_slice=np.concatenate((inside.range_slice, slices)),
        range_call=np.concatenate((inside.range_call, calls + np.arange(len(slices)))),
        around=np.where(inside.around >= 0, inside.around, gather(range_of_slice, in_outermost)),
        is_call=np.append(inside.is_call, np.ones(len(slices), np.bool_)),
        work_call=work_call,
    )


def _outermost(trace: Trace, inside: Hierarchy) -> Bools:
    """Which operators and device calls no range is around, nor another one of them."""
    is_call = np.zeros(trace.slices.height, np.bool_)
    is_call[call_tree(trace).slice] = True
    is_call |= trace.slices["category"].to_numpy() == Category.RUNTIME
    is_call &= inside.around < 0
    # An operator around ranges is none of what is outside them.
    parent = indices(trace.slices["parent"])
    holder = np.zeros(trace.slices.height + 1, np.bool_)
    above = distinct_values(parent[inside.range_slice])
    while len(above):
        above = above[(above >= 0) & ~holder[above]]
        holder[above] = True
        above = distinct_values(parent[above])
    is_call &= ~holder[:-1]
    return is_call & (gather(nearest_marked(parent, is_call), parent) < 0)


def _named(trace: Trace, names: Int64, weight: Int64) -> tuple[Int64, list[str]]:
    """Per call its node, and the names of the nodes: those with most time, and the rest."""
    distinct, inverse = factorize(names)
    inverse = inverse.reshape(-1)
    time_ns = np.bincount(inverse, weight, minlength=len(distinct))
    order = np.lexsort((distinct, -time_ns))
    shown = order[:MAX_NODES]
    node = np.full(len(distinct), len(shown), np.int64)
    node[shown] = np.arange(len(shown))
    texts = [
        UNASSOCIATED + (trace.text(code) or "")[:MAX_NAME_CHARS]
        for code in distinct[shown].tolist()
    ]
    return node[inverse], [*texts, *([OTHERS] if len(order) > len(shown) else [])]


def _joined(nodes: Nodes, names: list[str]) -> Nodes:
    """``nodes`` with roots of these names behind."""
    used = set(nodes.path)
    paths: list[str] = []
    for number, name in enumerate(names):
        path = f"{name}#{number}" if name in used else name
        used.add(path)
        paths.append(path)
    roots = np.full(len(names), -1, np.int64)
    return Nodes(
        np.concatenate((nodes.parent, roots)), [*nodes.name, *names], [*nodes.path, *paths]
    )
