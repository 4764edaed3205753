"""The modules of a trace: every call of an ``nn.Module``, merged into one tree, and what ran in it.

A call of a module is an *occurrence*; occurrences with the same name and id under the same
parent are one *node* of the tree, whichever children each call ran. Forward work belongs to the
innermost module around it; backward work to the module that ran the forward operator
(``docs/views-modules.md#how-it-is-counted``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.forests import gather, indices, levels, nearest_marked
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NAME_PREFIX = "nn.Module: "
LIGHTNING_MODULE = "[pl][module]"
LIGHTNING_PROFILE = "[pl][profile]"
MAX_PATH_CHARS = 2000
"""Longer paths start with ``…`` and the number of a node: thousands of levels deep, whole paths
would take memory by the square of the depth."""

_BACKWARD_ROOT = "autograd::engine::evaluate_function: "
_ACCUMULATE_GRAD = "AccumulateGrad"


@dataclass(frozen=True, slots=True, eq=False)
class ModuleNodes:
    """The merged tree, depth first, siblings in order of first call.

    Attributes:
        parent: Node above, -1 for roots.
        name: Name without ``nn.Module: ``; a Lightning module has its dotted name.
        module_id: Id of the module object; -1 where the format gives none.
        path: Names from the root joined by ``/``; unique: siblings of one name but different
            ids carry ``#id``.
    """

    parent: Int64
    name: list[str]
    module_id: Int64
    path: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class ModuleTree:
    """Occurrences of modules and what belongs to them.

    Attributes:
        nodes: The merged tree.
        slice: Slice of each occurrence, ascending.
        parent: Occurrence around each occurrence, -1 for none.
        node: Node of each occurrence.
        around: Per slice of the trace: innermost occurrence around it (a module is inside
            itself), -1 for none.
        backward_root: Per slice: the outermost backward node around it, -1 for none.
        backward_of: Per slice: the occurrence whose backward work it is, -1 for none.
    """

    nodes: ModuleNodes
    slice: Int64
    parent: Int64
    node: Int64
    around: Int64
    backward_root: Int64
    backward_of: Int64

    @property
    def count(self) -> int:
        """How many occurrences there are."""
        return len(self.slice)


def is_lightning(trace: Trace) -> bool:
    """True for traces of the PyTorch Lightning profiler, whose ranges tell the modules."""
    return trace.meta.info.framework == "pytorch-lightning"


@per_trace
def module_tree(trace: Trace) -> ModuleTree:
    """The modules of ``trace``; made once."""
    if is_lightning(trace):
        return _lightning(trace, LIGHTNING_MODULE)
    slices = trace.slices
    is_module = slices["category"].to_numpy() == Category.MODULE
    parent = indices(slices["parent"])
    # A module lies in the python tree; operators and launches meet that tree at their frame.
    in_python = nearest_marked(parent, is_module)
    frame = indices(slices["frame"])
    module = np.where(frame >= 0, gather(in_python, frame), in_python)
    occurrence_slices = np.flatnonzero(is_module)
    names = [name.removeprefix(NAME_PREFIX) for name in _names(trace, occurrence_slices)]
    ids = np.full(slices.height, -1, np.int64)
    ids[trace.python["slice"].to_numpy()] = indices(trace.python["module_id"])
    above = gather(module, parent[occurrence_slices])
    return _assemble(
        trace,
        occurrence_slices,
        names=names,
        ids=ids[occurrence_slices],
        above=above,
        module=module,
    )


@per_trace
def profile_tree(trace: Trace) -> ModuleTree:
    """Lightning's ``[pl][profile]`` ranges as a tree of their own; made once."""
    return _lightning(trace, LIGHTNING_PROFILE)


def starts_with(trace: Trace, prefix: str) -> Bools:
    """Mask over slices of those whose name starts with ``prefix``."""
    codes = trace.slices["name_code"].to_numpy()
    names = trace.strings
    hits = [code for code in np.unique(codes) if str(names[code]).startswith(prefix)]
    return np.isin(codes, hits)


def _lightning(trace: Trace, prefix: str) -> ModuleTree:
    """Ranges of Lightning: slices in the operator tree whose names say what they are."""
    is_range = starts_with(trace, prefix)
    parent = indices(trace.slices["parent"])
    module = nearest_marked(parent, is_range)
    occurrence_slices = np.flatnonzero(is_range)
    names = [_lightning_name(name, prefix) for name in _names(trace, occurrence_slices)]
    ids = np.full(len(names), 0 if prefix == LIGHTNING_MODULE else -1, np.int64)
    above = gather(module, parent[occurrence_slices])
    return _assemble(trace, occurrence_slices, names=names, ids=ids, above=above, module=module)


def _lightning_name(text: str, prefix: str) -> str:
    """``[pl][module]torch.nn.Conv2d: net.conv`` → ``net.conv``; ``[pl][profile]X`` → ``X``."""
    rest = text.removeprefix(prefix)
    return rest.partition(": ")[2] or rest if prefix == LIGHTNING_MODULE else rest


def _names(trace: Trace, slices: Int64) -> list[str]:
    codes = trace.slices["name_code"].gather(slices).to_list()
    return [trace.text(code) or "" for code in codes]


def _assemble(
    trace: Trace, slices: Int64, *, names: list[str], ids: Int64, above: Int64, module: Int64
) -> ModuleTree:
    """Number occurrences and merge them to nodes.

    Args:
        trace: The trace.
        slices: Slices of the occurrences, ascending.
        names: Name of each.
        ids: Module id of each, -1 for none.
        above: Module slice around each, -1 for none.
        module: Per slice of the trace, the innermost module slice around it, -1 for none.
    """
    number = np.full(trace.slices.height, -1, np.int64)
    number[slices] = np.arange(len(slices))
    parent = gather(number, above)
    around = gather(number, module)
    root, backward_of = _backward(trace, around)
    node, nodes = _merge(names, ids, parent, trace.slices["start_ns"].to_numpy()[slices])
    return ModuleTree(nodes, slices, parent, node, around, root, backward_of)


def _merge(
    names: list[str], ids: Int64, parent: Int64, start_ns: Int64
) -> tuple[Int64, ModuleNodes]:
    """Merge occurrences of equal (parent node, name, id), level by level from the roots."""
    node = np.full(len(names), -1, np.int64)
    parents: list[int] = []
    node_names: list[str] = []
    node_ids: list[int] = []
    for level in levels(parent):
        known: dict[tuple[int, str, int], int] = {}
        for place in level[np.argsort(start_ns[level], kind="stable")].tolist():
            above = int(node[parent[place]]) if parent[place] >= 0 else -1
            key = (above, names[place], int(ids[place]))
            if key not in known:
                known[key] = len(parents)
                parents.append(above)
                node_names.append(names[place])
                node_ids.append(key[2])
            node[place] = known[key]
    order = _depth_first(parents)
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    parent_node = gather(place_of, np.array(parents, np.int64)[order])
    node_names = [node_names[old] for old in order]
    ordered_ids = np.array(node_ids, np.int64)[order]
    paths = _paths(parent_node.tolist(), node_names, ordered_ids.tolist())
    return gather(place_of, node), ModuleNodes(parent_node, node_names, ordered_ids, paths)


def _depth_first(parents: list[int]) -> list[int]:
    """Nodes so that each stands before its children and they before its next sibling."""
    children: dict[int, list[int]] = {}
    for node, above in enumerate(parents):
        children.setdefault(above, []).append(node)
    order: list[int] = []
    waiting = children.get(-1, [])[::-1]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(reversed(children.get(node, [])))
    return order


def _paths(parents: list[int], names: list[str], ids: list[int]) -> list[str]:
    twins: dict[tuple[int, str], int] = {}
    for key in zip(parents, names, strict=True):
        twins[key] = twins.get(key, 0) + 1
    paths: list[str] = []
    for above, name, module_id in zip(parents, names, ids, strict=True):
        label = f"{name}#{module_id}" if twins[above, name] > 1 else name
        start = paths[above] if above >= 0 else ""
        if len(start) > MAX_PATH_CHARS:
            start = f"…{above}"
        paths.append(f"{start}/{label}" if above >= 0 else label)
    return paths


def _backward(trace: Trace, around: Int64) -> tuple[Int64, Int64]:
    """Per slice: its outermost backward node, and the occurrence of the forward operator."""
    roots, forward = backward_roots(trace)
    is_root = np.zeros(trace.slices.height, np.bool_)
    is_root[roots] = True
    root = nearest_marked(indices(trace.slices["parent"]), is_root)
    target = np.full(trace.slices.height, -1, np.int64)
    target[roots] = gather(around, forward)
    return root, gather(target, root)


@per_trace
def backward_roots(trace: Trace) -> tuple[Int64, Int64]:
    """Outermost backward nodes, and the forward operator of each (-1 where unknown); made once.

    An ``AccumulateGrad`` has no forward operator; it belongs with the backward node that ran
    before it on its thread.
    """
    parent = indices(trace.slices["parent"])
    linked = trace.operators.filter(pl.col("forward").is_not_null())
    linked_slice = linked["slice"].to_numpy()
    is_backward = starts_with(trace, _BACKWARD_ROOT)
    is_backward[linked_slice] = True
    is_root = is_backward & (gather(nearest_marked(parent, is_backward), parent) < 0)
    root = nearest_marked(parent, is_root)
    forward = np.full(trace.slices.height, -1, np.int64)
    # Written from the last to the first, so that the first link inside a root decides.
    forward[root[linked_slice][::-1]] = linked["forward"].to_numpy()[::-1]
    roots = np.flatnonzero(is_root)
    return roots, _carried_over(trace, roots, forward[roots])


def _carried_over(trace: Trace, roots: Int64, target: Int64) -> Int64:
    """``target`` of each backward root, gradient accumulation taking that of the root before."""
    accumulates = np.array([_ACCUMULATE_GRAD in name for name in _names(trace, roots)], np.bool_)
    track = trace.slices["track"].to_numpy()[roots]
    source = np.maximum.accumulate(np.where(accumulates, -1, np.arange(len(roots))))
    carried = gather(target, source)
    same_thread = track == gather(track, source)
    return np.where(accumulates, np.where(same_thread, carried, -1), target)
