"""Which module of one model is which of another: alignment of two trees by structure.

Names alone do not do: numbers in names (``Conv2d_7``) shift when a layer is added, and wrappers
(``DistributedDataParallel``) put a level above. Children of aligned parents are aligned by class
in order (longest matching runs), what is left by name, then by class.
"""

from __future__ import annotations

import re
from collections import defaultdict

from msgspec import Struct, field

from torch_tb_profiler.views.compare.runs import matching_runs

WRAPPER_CLASSES = frozenset(
    {
        "DataParallel",
        "DistributedDataParallel",
        "FullyShardedDataParallel",
        "OptimizedModule",
        "PipelineStage",
    }
)
"""Classes that only wrap a model; a side without the wrapper meets what is inside it."""

_NUMBER = re.compile(r"(?:_\d+)?(?:#\d+)?$")


class ModuleNode(Struct, frozen=True):
    """One module of a tree: its name and the rows of its children, in order."""

    name: str
    children: tuple[int, ...]

    @property
    def kind(self) -> str:
        """Its class: the name without number and id."""
        return _NUMBER.sub("", self.name)


class Alignment(Struct):
    """Rows of the aligned tree, depth first.

    Attributes:
        baseline: Row of the baseline, -1 where only the candidate has it.
        candidate: Row of the candidate likewise.
        parent: Row of the alignment that is above, -1 for roots.
    """

    baseline: list[int] = field(default_factory=list)
    candidate: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)

    def add(self, baseline: int, candidate: int, parent: int) -> int:
        """Append a row and return its number."""
        self.baseline.append(baseline)
        self.candidate.append(candidate)
        self.parent.append(parent)
        return len(self.parent) - 1


def tree_of(names: list[str], parents: list[int]) -> tuple[list[ModuleNode], tuple[int, ...]]:
    """Nodes and roots of a forest given by the parent of each row, -1 for roots."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for row, parent in enumerate(parents):
        children[parent].append(row)
    nodes = [ModuleNode(name, tuple(children[row])) for row, name in enumerate(names)]
    return nodes, tuple(children[-1])


def align(
    baseline: list[ModuleNode],
    candidate: list[ModuleNode],
    roots: tuple[tuple[int, ...], tuple[int, ...]],
) -> Alignment:
    """Align two forests; each row of both is in exactly one row of the result."""
    result = Alignment()
    waiting = _aligned_rows(baseline, candidate, roots, -1)[::-1]
    while waiting:
        left, right, parent, is_wrapper = waiting.pop()
        row = result.add(left, right, parent)
        if not is_wrapper:
            below = (
                baseline[left].children if left >= 0 else (),
                candidate[right].children if right >= 0 else (),
            )
            waiting += _aligned_rows(baseline, candidate, below, row)[::-1]
    return result


def _aligned_rows(
    baseline: list[ModuleNode],
    candidate: list[ModuleNode],
    below: tuple[tuple[int, ...], tuple[int, ...]],
    parent: int,
) -> list[tuple[int, int, int, bool]]:
    """Two lists of siblings aligned: rows, the row above, and whether it is a taken-off wrapper,
    whose children stand beside it."""
    left, right = below
    lone_left, left = _unwrapped(baseline, left, {candidate[row].kind for row in right})
    lone_right, right = _unwrapped(candidate, right, {baseline[row].kind for row in left})
    pairs = _pairs([baseline[row] for row in left], [candidate[row] for row in right])
    return [
        *((row, -1, parent, True) for row in lone_left),
        *((-1, row, parent, True) for row in lone_right),
        *((left[a] if a >= 0 else -1, right[b] if b >= 0 else -1, parent, False) for a, b in pairs),
    ]


def _unwrapped(
    nodes: list[ModuleNode], rows: tuple[int, ...], others: set[str]
) -> tuple[list[int], tuple[int, ...]]:
    """Wrappers among ``rows`` that the other side lacks, and the rows with those replaced by
    what they wrap. Where there is nothing on the other side nothing is taken apart."""
    lone: list[int] = []
    if not others:
        return lone, rows
    remaining: list[int] = []
    waiting = list(rows)[::-1]
    while waiting:
        row = waiting.pop()
        kind = nodes[row].kind
        if kind in WRAPPER_CLASSES and kind not in others:
            lone.append(row)
            waiting.extend(reversed(nodes[row].children))
        else:
            remaining.append(row)
    return lone, tuple(remaining)


def _pairs(left: list[ModuleNode], right: list[ModuleNode]) -> list[tuple[int, int]]:
    """Places that meet, -1 for none; in order of the left side, the rest of the right after."""
    meeting = [-1] * len(left)
    is_free = [True] * len(right)

    def meet(index: int, other: int) -> None:
        meeting[index] = other
        is_free[other] = False

    for run in matching_runs([node.kind for node in left], [node.kind for node in right]):
        for step in range(run.size):
            meet(run.start_left + step, run.start_right + step)
    for key in ("name", "kind"):
        by_key: defaultdict[str, list[int]] = defaultdict(list)
        for other in reversed(range(len(right))):
            if is_free[other]:
                by_key[getattr(right[other], key)].append(other)
        for index, node in enumerate(left):
            if meeting[index] < 0 and by_key[getattr(node, key)]:
                meet(index, by_key[getattr(node, key)].pop())
    rest = [(-1, other) for other in range(len(right)) if is_free[other]]
    return [*enumerate(meeting), *rest]
