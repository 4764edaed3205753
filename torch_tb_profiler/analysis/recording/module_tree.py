"""The modules of a trace: every call of an ``nn.Module``, merged into one tree, and what ran in it.

A call of a module is an *occurrence*; occurrences with the same name and id under the same
parent are one *node* of the tree, whichever children each call ran. Forward work belongs to the
innermost module around it, also where it ran again; backward work to the module that ran the
forward operator
(``docs/views-modules.md#how-it-is-counted``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices, levels, nearest_marked
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.recomputation import carried_by_one_call, recomputation
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
        parent: Occurrence around each occurrence, -1 for none; of what ran again in the backward
            pass the one around the call it repeats.
        node: Node of each occurrence.
        within: Slice of the backward node each occurrence ran in: that was the module being
            recomputed; -1 for forward calls.
        call: The forward call that each occurrence is the work of: itself, or what it repeats.
        around: Per slice of the trace: innermost occurrence around it (a module is inside
            itself), -1 for none.
        backward_root: Per slice: the innermost backward node around it, -1 for none and for what
            a module did that was recomputed in one.
        backward_of: Per slice: the occurrence whose backward work it is, -1 for none.
    """

    nodes: ModuleNodes
    slice: Int64
    parent: Int64
    node: Int64
    within: Int64
    call: Int64
    around: Int64
    backward_root: Int64
    backward_of: Int64

    @property
    def count(self) -> int:
        """How many occurrences there are."""
        return len(self.slice)

    @property
    def is_recomputed(self) -> Bools:
        """Which occurrences ran in the backward pass, again."""
        return self.within >= 0


def is_lightning(trace: Trace) -> bool:
    """True for traces of the PyTorch Lightning profiler, whose ranges tell the modules."""
    return trace.meta.info.framework == "pytorch-lightning"


@per_trace
def module_tree(trace: Trace) -> ModuleTree:
    """The modules of ``trace``; made once."""
    if is_lightning(trace):
        return _lightning(trace, LIGHTNING_MODULE)
    slices = trace.slices
    parent = indices(slices["parent"])
    module = modules_around(trace)
    occurrence_slices = np.flatnonzero(slices["category"].to_numpy() == Category.MODULE)
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
def modules_around(trace: Trace) -> Int64:
    """Per slice the innermost frame of a module around it (a module is inside itself), -1 for none;
    made once."""
    is_module = trace.slices["category"].to_numpy() == Category.MODULE
    # A module lies in the python tree; operators and launches meet that tree at their frame.
    in_python = nearest_marked(indices(trace.slices["parent"]), is_module)
    frame = indices(trace.slices["frame"])
    return np.where(frame >= 0, gather(in_python, frame), in_python)


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
    again = recomputation(trace, slices, _identities(trace, slices, names, ids), parent)
    # Of a module and a backward node around a slice, one lies in the other.
    root = backward_nodes(trace).around
    root = np.where(gather(again.within, around) == root, -1, root)
    nodes_of_backward = backward_nodes(trace).slice
    target = np.full(trace.slices.height, -1, np.int64)
    target[nodes_of_backward] = _targets(trace, slices, parent, around, root)
    start_ns = trace.slices["start_ns"].to_numpy()[slices]
    node, nodes = _merge(names, ids, again.parent, start_ns)
    return ModuleTree(
        nodes=nodes,
        slice=slices,
        parent=again.parent,
        node=node,
        within=again.within,
        call=again.call,
        around=around,
        backward_root=root,
        backward_of=gather(target, root),
    )


def _identities(trace: Trace, slices: Int64, names: list[str], ids: Int64) -> Int64:
    """Equal numbers for calls of one module: those of one process, name and id."""
    track = trace.slices["track"].to_numpy()[slices]
    process = indices(trace.tracks["process"])[track]
    keys = pl.DataFrame({"process": process, "name": names, "id": ids})
    return indices(keys.select(pl.struct(pl.all()).rank("dense")).to_series())


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


def _targets(trace: Trace, slices: Int64, parent: Int64, around: Int64, root: Int64) -> Int64:
    """Per backward node the call of a module whose backward work it is, -1 for none.

    That is the call around its forward operator, or the one call that operator made (a checkpoint
    calls the module it is of). Where no module is around the forward operator of a node inside
    another node, or where it is unknown, it belongs with the node it ran in; so does a node whose
    forward operator ran again in another node, outside every module.
    """
    nodes = backward_nodes(trace)
    number = np.full(trace.slices.height, -1, np.int64)
    number[nodes.slice] = np.arange(len(nodes.slice))
    forward_in = gather(root, nodes.forward)
    own = np.where(forward_in < 0, gather(around, nodes.forward), -1)
    made = carried_by_one_call(trace, nodes.forward, slices, parent)
    own = np.where(made >= 0, made, own)
    up = np.where(forward_in >= 0, gather(number, forward_in), nodes.outer)
    return gather(own, nearest_marked(up, own >= 0))
