"""Equal siblings of a tree: nodes of one class with equally built trees below, at one place.

The layers of a model are such: ``DecoderLayer_0`` … ``DecoderLayer_23``. Definitions:
``docs/views-groups.md#equal-siblings``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import Nodes, path_below
from torch_tb_profiler.trace.columns import Float64, Int64

_DIGITS, _BEFORE, _AFTER = "0123456789", " _.#:[(-", "])"
LEAST_COMPARED = 3
"""Of two that differ nobody can say which one is the odd one."""


class Folded(Struct, frozen=True, eq=False):
    """The tree with equal siblings as one node.

    Attributes:
        of_node: Per node its folded node.
        parent: Per folded node the one above, -1 for roots; parents stand before children.
        name: Per folded node its name, of equal siblings ``DecoderLayer ×24``.
        path: Per folded node its path; unique.
        members: Per folded node how many nodes it stands for.
    """

    of_node: Int64
    parent: Int64
    name: list[str]
    path: list[str]
    members: Int64

    @property
    def count(self) -> int:
        """How many folded nodes there are."""
        return len(self.name)


class Outlier(Struct, frozen=True):
    """The member of a group of equals that is furthest from the others.

    Attributes:
        node: Which one.
        value: Its value.
        others: The median of the others.
        off_pct: How far it is off, in % of that; negative where it is lower.
    """

    node: int
    value: float
    others: float
    off_pct: float


def class_name(name: str) -> str:
    """The name without the number at its end: ``Linear_3`` and ``Linear_17`` are of one class."""
    opened = name.rstrip(_AFTER)
    stem = opened.rstrip(_DIGITS)
    return (stem.rstrip(_BEFORE) if len(stem) < len(opened) else "") or name


def structures(nodes: Nodes) -> Int64:
    """Per node the number of its structure: equal for nodes of one class whose children have
    equal structures, in whatever order."""
    known: dict[tuple[str, tuple[int, ...]], int] = {}
    below: list[list[int]] = [[] for _ in nodes.name]
    structure = np.empty(nodes.count, np.int64)
    parents = nodes.parent.tolist()
    for node in range(nodes.count - 1, -1, -1):
        key = class_name(nodes.name[node]), tuple(sorted(below[node]))
        structure[node] = number = known.setdefault(key, len(known))
        if parents[node] >= 0:
            below[parents[node]].append(number)
    return structure


def twin_groups(nodes: Nodes, count: int) -> list[Int64]:
    """The groups of equal siblings among the first ``count`` nodes, each with its nodes in order
    of first call; groups in order of their first nodes."""
    groups: dict[tuple[int, int], list[int]] = {}
    structure = structures(nodes)
    for node in range(count):
        key = int(nodes.parent[node]), int(structure[node])
        groups.setdefault(key, []).append(node)
    return [np.array(members) for members in groups.values() if len(members) > 1]


def folded(nodes: Nodes, count: int, separator: str) -> Folded:
    """``nodes`` with equal siblings among the first ``count`` as one node each; what is below them
    is folded with them."""
    structure = structures(nodes)
    siblings: dict[tuple[int, int], int] = {}
    for node in range(count):
        key = int(nodes.parent[node]), int(structure[node])
        siblings[key] = siblings.get(key, 0) + 1
    node_of_key: dict[tuple[int, int], int] = {}
    of_node = np.empty(nodes.count, np.int64)
    parent: list[int] = []
    name: list[str] = []
    path: list[str] = []
    used: set[str] = set()
    for node in range(nodes.count):
        above = int(nodes.parent[node])
        folded_above = int(of_node[above]) if above >= 0 else -1
        times = siblings.get((above, int(structure[node])), 1)
        key = folded_above, int(structure[node]) if node < count else -1 - node
        if key not in node_of_key:
            node_of_key[key] = len(parent)
            parent.append(folded_above)
            own = nodes.name[node]
            name.append(f"{class_name(own)} ×{times}" if times > 1 else own)
            text = path_below(path, folded_above, separator, name[-1])
            path.append(text if text not in used else f"{text}#{len(path)}")
            used.add(path[-1])
        of_node[node] = node_of_key[key]
    members = np.bincount(of_node, minlength=len(parent))
    return Folded(of_node, np.array(parent, np.int64), name, path, members)


def outlier(members: Int64, values: Float64) -> Outlier | None:
    """The member that is furthest from the median of the others; None where fewer than
    :data:`LEAST_COMPARED` have a value, and where all are equal.

    Args:
        members: Nodes of one group.
        values: Value of each; NaN for none.
    """
    known = np.flatnonzero(~np.isnan(values))
    if len(known) < LEAST_COMPARED:
        return None
    own = values[known]
    # The one furthest from the median of all is furthest from that of the others too.
    largest = int(np.argmax(np.abs(own - np.median(own))))
    others = float(np.median(np.delete(own, largest)))
    if own[largest] == others:
        return None
    off = (float(own[largest]) / others - 1) * 100 if others else float("inf")
    return Outlier(int(members[known[largest]]), float(own[largest]), others, off)
