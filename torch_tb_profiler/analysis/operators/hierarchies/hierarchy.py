"""One tree for modules, user ranges and call stacks: what its nodes are, and what ran in them.

A *range* is a stretch of a host thread; it belongs to a *call*, and calls of one name at one place
are a *node* of the tree. A module has a call for each time it ran, with the range of that, and
another one for the backward work of it, with the ranges of its autograd nodes. Definitions:
``docs/views-groups.md``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, levels
from torch_tb_profiler.trace.columns import Bools, Int64

Kind = Literal["modules", "ranges", "call_stacks"]
KINDS: tuple[Kind, ...] = ("modules", "ranges", "call_stacks")

MAX_PATH_CHARS = 1000
"""Of longer paths the beginning is left out: ``…`` and the number of a node stand for it."""


class Nodes(Struct, frozen=True, eq=False):
    """The merged tree: parents stand before their children, siblings in order of first call.

    Attributes:
        parent: Node above, -1 for roots.
        name: Name of each.
        path: Names from the root; unique.
    """

    parent: Int64
    name: list[str]
    path: list[str]

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.name)


class Hierarchy(Struct, frozen=True, eq=False):
    """A tree of nodes, the calls of each, and what ran in them.

    Attributes:
        nodes: The tree.
        first_outside: Nodes from this number on are work outside the hierarchy.
        call_node: Node of each call.
        call_parent: The call around each call, -1 for none. Where the recording tells the stack of
            an operator and not the calls of its frames, a call has none and stands for all of them.
        call_slice: Slice that each call is told by: it has the name of its node.
        range_slice: Slice of each range.
        range_call: Call of each range.
        is_call: Which ranges count as calls of their node: not the backward work of a module, nor
            what ran again in it.
        around: Per slice of the trace the number of the innermost range around it, -1 for none. A
            range is inside itself.
        work_call: Per row of ``trace.device_work`` the innermost call it was launched in, -1 for
            none.
    """

    nodes: Nodes
    first_outside: int
    call_node: Int64
    call_parent: Int64
    call_slice: Int64
    range_slice: Int64
    range_call: Int64
    is_call: Bools
    around: Int64
    work_call: Int64

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the kind was recorded."""
        return self.first_outside == 0


class Climbed(Struct, frozen=True, eq=False):
    """Elements at every node of the tree they are in.

    Attributes:
        element: Which element it is.
        node: A node it is in.
        call: The call it is in there.
    """

    element: Int64
    node: Int64
    call: Int64


def climb(hierarchy: Hierarchy, call: Int64, stays: Bools | None = None) -> Climbed:
    """Every element at the node of its call and at all nodes above.

    Args:
        hierarchy: The tree.
        call: Innermost call of each element, -1 for none.
        stays: Which elements are wanted at the node of their call alone; None for no one.
    """
    element = np.flatnonzero(call >= 0)
    call = call[element]
    node = hierarchy.call_node[call]
    parts: list[Climbed] = []
    if stays is not None:
        stay = stays[element]
        parts.append(Climbed(element[stay], node[stay], call[stay]))
        element, node, call = element[~stay], node[~stay], call[~stay]
    while len(element):
        parts.append(Climbed(element, node, call))
        node = hierarchy.nodes.parent[node]
        above = hierarchy.call_parent[call]
        call = np.where(above >= 0, above, call)
        inside = node >= 0
        element, node, call = element[inside], node[inside], call[inside]
    nothing = np.empty(0, np.int64)
    return Climbed(
        np.concatenate([part.element for part in parts] or [nothing]),
        np.concatenate([part.node for part in parts] or [nothing]),
        np.concatenate([part.call for part in parts] or [nothing]),
    )


def merged_calls(
    name: Int64, names: list[str], parent: Int64, start_ns: Int64, separator: str
) -> tuple[Int64, Nodes]:
    """Merge calls of equal names at equal places: the node of each call, and the tree.

    Args:
        name: Number of the name of each call.
        names: The names.
        parent: The call around each, -1 for none.
        start_ns: Start of each.
        separator: What stands between the names of a path.
    """
    node = np.full(len(name), -1, np.int64)
    parents: list[Int64] = []
    of_names: list[Int64] = []
    firsts: list[Int64] = []
    count = 0
    for level in levels(parent):
        keys = (gather(node, parent[level]) + 1) * len(names) + name[level]
        distinct, inverse = factorize(keys)
        node[level] = count + inverse
        first = np.full(len(distinct), np.iinfo(np.int64).max)
        np.minimum.at(first, inverse, start_ns[level])
        parents.append(distinct // len(names) - 1)
        of_names.append(distinct % len(names))
        firsts.append(first)
        count += len(distinct)
    nothing = [np.empty(0, np.int64)]
    return tree_of(
        node,
        parent=np.concatenate(parents or nothing),
        name=[names[number] for number in np.concatenate(of_names or nothing).tolist()],
        first_ns=np.concatenate(firsts or nothing),
        separator=separator,
    )


def tree_of(
    node: Int64, *, parent: Int64, name: list[str], first_ns: Int64, separator: str
) -> tuple[Int64, Nodes]:
    """The same nodes depth first, siblings in order of ``first_ns``: their new numbers for
    ``node``, and the tree."""
    order = _depth_first(parent, first_ns)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    parents = gather(rank, parent[order])
    in_order = [name[old] for old in order.tolist()]
    return gather(rank, node), Nodes(parents, in_order, _paths(parents, in_order, separator))


def _depth_first(parent: Int64, first_ns: Int64) -> Int64:
    children: dict[int, list[int]] = {}
    for node in np.argsort(first_ns, kind="stable")[::-1].tolist():
        children.setdefault(int(parent[node]), []).append(node)
    order: list[int] = []
    waiting = children.get(-1, [])
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(children.get(node, []))
    return np.array(order, np.int64)


def path_below(paths: list[str], above: int, separator: str, name: str) -> str:
    """The path of a node.

    Args:
        paths: Paths of the nodes so far.
        above: The node above it, -1 for none.
        separator: What stands between the names of a path.
        name: Its name.
    """
    if above < 0:
        return name
    start = paths[above] if len(paths[above]) <= MAX_PATH_CHARS else f"…{above}"
    return f"{start}{separator}{name}"


def _paths(parents: Int64, names: list[str], separator: str) -> list[str]:
    """Paths that no two nodes share, whatever the names are."""
    paths: list[str] = []
    used: set[str] = set()
    for node, (above, name) in enumerate(zip(parents.tolist(), names, strict=True)):
        path = path_below(paths, above, separator, name)
        if path in used:
            path = f"{path}#{node}"
        used.add(path)
        paths.append(path)
    return paths
