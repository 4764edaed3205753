"""The modules of a trace: every call of an ``nn.Module``, merged into one tree, and its work.

A call of a module is an *occurrence*; occurrences with the same name and id under the same
parent are one *node* of the tree, whichever children each call ran. Forward work belongs to the
innermost module around it, also when it is recomputed; backward work to the module that ran the
forward operator (``docs/views-modules.md#how-it-is-counted``).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices, levels, nearest_marked
from torch_tb_profiler.analysis.recording.backward_nodes import backward_nodes
from torch_tb_profiler.analysis.recording.recomputation import recomputation, sole_module_call
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

NAME_PREFIX = "nn.Module: "
LIGHTNING_MODULE = "[pl][module]"
LIGHTNING_PROFILE = "[pl][profile]"
MAX_PATH_CHARS = 2000
"""Longer paths start with ``…`` and the index of a node: for trees of thousands of levels, full
paths would take memory quadratic in the depth."""


class ModuleNodes(Struct, frozen=True, eq=False):
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


class ModuleTree(Struct, frozen=True, eq=False):
    """Occurrences of modules and the slices that belong to them.

    Attributes:
        nodes: The merged tree.
        slice: Slice of each occurrence, ascending.
        parent: Occurrence around each occurrence, -1 for none; for one recomputed in the backward
            pass the one around the call it repeats.
        node: Node of each occurrence.
        within: Slice of the backward node in which each occurrence is recomputed; -1 for forward
            calls.
        call: The forward call of each occurrence: itself, or the call it repeats.
        around: Per slice of the trace: innermost occurrence around it (a module is inside
            itself), -1 for none.
        backward_root: Per slice: the innermost backward node around it, -1 for none and inside a
            module recomputed in that node.
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
        """Which occurrences are recomputed in the backward pass."""
        return self.within >= 0


def is_lightning(trace: Trace) -> bool:
    """Whether the PyTorch Lightning profiler wrote the trace, whose ranges name the modules."""
    return trace.meta.info.framework == "pytorch-lightning"


@per_trace
def module_tree(trace: Trace) -> ModuleTree:
    """The modules of ``trace``."""
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
    """Per slice the innermost frame of a module around it (a module is inside itself), -1 for
    none."""
    is_module = trace.slices["category"].to_numpy() == Category.MODULE
    # A module lies in the python tree; operators and launches meet that tree at their frame.
    in_python = nearest_marked(indices(trace.slices["parent"]), is_module)
    frame = indices(trace.slices["frame"])
    return np.where(frame >= 0, gather(in_python, frame), in_python)


@per_trace
def profile_tree(trace: Trace) -> ModuleTree:
    """Lightning's ``[pl][profile]`` ranges as a tree."""
    return _lightning(trace, LIGHTNING_PROFILE)


def name_starts_with(trace: Trace, prefix: str) -> Bools:
    """Per slice whether its name starts with ``prefix``."""
    names = trace.slices["name_code"].to_numpy()
    return codes.names_match(trace, names, lambda name: name.startswith(prefix))


def _lightning(trace: Trace, prefix: str) -> ModuleTree:
    """The tree of Lightning's ranges: slices of the operator tree, recognized by name."""
    is_range = name_starts_with(trace, prefix)
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
    name_codes = trace.slices["name_code"].gather(slices).to_list()
    return [trace.text(code) or "" for code in name_codes]


def _assemble(
    trace: Trace, slices: Int64, *, names: list[str], ids: Int64, above: Int64, module: Int64
) -> ModuleTree:
    """Number the occurrences and merge them into nodes.

    Args:
        trace: The trace.
        slices: Slices of the occurrences, ascending.
        names: Name of each.
        ids: Module id of each, -1 for none.
        above: Module slice around each, -1 for none.
        module: Per slice of the trace, the innermost module slice around it, -1 for none.
    """
    occurrence = np.full(trace.slices.height, -1, np.int64)
    occurrence[slices] = np.arange(len(slices))
    parent = gather(occurrence, above)
    around = gather(occurrence, module)
    repeated = recomputation(trace, slices, _identities(trace, slices, names, ids), parent)
    # A module and a backward node around the same slice are nested one in the other.
    root = backward_nodes(trace).around
    root = np.where(gather(repeated.within, around) == root, -1, root)
    nodes_of_backward = backward_nodes(trace).slice
    target = np.full(trace.slices.height, -1, np.int64)
    target[nodes_of_backward] = _targets(trace, slices, parent, around, root)
    start_ns = trace.slices["start_ns"].to_numpy()[slices]
    node, nodes = _merge(names, ids, repeated.parent, start_ns)
    return ModuleTree(
        nodes=nodes,
        slice=slices,
        parent=repeated.parent,
        node=node,
        within=repeated.within,
        call=repeated.call,
        around=around,
        backward_root=root,
        backward_of=gather(target, root),
    )


def _identities(trace: Trace, slices: Int64, names: list[str], ids: Int64) -> Int64:
    """Equal ids for calls of one module: same process, name and module id."""
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
        for occurrence in level[np.argsort(start_ns[level], kind="stable")].tolist():
            above = int(node[parent[occurrence]]) if parent[occurrence] >= 0 else -1
            key = (above, names[occurrence], int(ids[occurrence]))
            if key not in known:
                known[key] = len(parents)
                parents.append(above)
                node_names.append(names[occurrence])
                node_ids.append(key[2])
            node[occurrence] = known[key]
    order = _depth_first(parents)
    new_index = np.empty(len(order), np.int64)
    new_index[order] = np.arange(len(order))
    parent_node = gather(new_index, np.array(parents, np.int64)[order])
    node_names = [node_names[old] for old in order]
    ordered_ids = np.array(node_ids, np.int64)[order]
    paths = _paths(parent_node.tolist(), node_names, ordered_ids.tolist())
    return gather(new_index, node), ModuleNodes(parent_node, node_names, ordered_ids, paths)


def _depth_first(parents: list[int]) -> list[int]:
    """Nodes in depth-first order: each before its children, these before its next sibling."""
    children: dict[int, list[int]] = {}
    for node, above in enumerate(parents):
        children.setdefault(above, []).append(node)
    order: list[int] = []
    stack = children.get(-1, [])[::-1]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children.get(node, [])))
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

    That is the call around its forward operator, or the only call inside that operator (a
    checkpoint calls its module). A node inside another one belongs with that one where its forward
    operator is unknown or outside every module, or where it was recomputed in another node, outside
    every module.
    """
    nodes = backward_nodes(trace)
    node_of_slice = np.full(trace.slices.height, -1, np.int64)
    node_of_slice[nodes.slice] = np.arange(len(nodes.slice))
    forward_in = gather(root, nodes.forward)
    own = np.where(forward_in < 0, gather(around, nodes.forward), -1)
    called = sole_module_call(trace, nodes.forward, slices, parent)
    own = np.where(called >= 0, called, own)
    up = np.where(forward_in >= 0, gather(node_of_slice, forward_in), nodes.outer)
    return gather(own, nearest_marked(up, own >= 0))
