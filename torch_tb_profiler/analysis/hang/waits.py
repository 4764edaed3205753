"""Who waits for whom: which of several hangs is the root, and which are its consequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from msgspec import Struct

from torch_tb_profiler.analysis.hang.problems import ORDER, HangKind, HangProblem

WEAK: tuple[HangKind, ...] = ("not_completed", "queued")
"""Kinds in which no rank is missing: of several hangs they are roots only where all are such."""


class WaitCause(Struct, frozen=True):
    """How a problem stands to the others.

    Attributes:
        is_root: Nothing else explains it.
        is_cycle: It is one of several that wait for each other: calls in another order.
        held_by: Problems (by number) in which the ranks are that it waits for.
        culprits: The ranks that it waits for and that wait nowhere; of calls that do not fit, those
            that are odd.
    """

    is_root: bool
    is_cycle: bool
    held_by: tuple[int, ...]
    culprits: tuple[int, ...]


def causes(problems: Sequence[HangProblem]) -> list[WaitCause]:
    """Which of the problems are roots.

    A rank that others wait for may itself wait elsewhere. A problem is held by others where every
    rank that it waits for does, or is missing in those others too. Problems that hold each other,
    with nothing else to hold them, are a deadlock: calls in another order.
    """
    holders = _holders(problems)
    free = [tuple(rank for rank, others in by_rank.items() if not others) for by_rank in holders]
    held = [
        tuple(sorted({each for others in by_rank.values() for each in others}))
        for by_rank in holders
    ]
    is_held = [
        bool(held[number])
        and all(
            any(rank in problems[other].blockers for other in held[number]) for rank in free[number]
        )
        for number in range(len(problems))
    ]
    edges = [held[number] if is_held[number] else () for number in range(len(problems))]
    component = _components(edges)
    leaves = {
        component[number]
        for number, others in enumerate(edges)
        if any(component[other] != component[number] for other in others)
    }
    sizes = Counter(component)
    is_cycle = [
        sizes[component[number]] > 1 and component[number] not in leaves
        for number in range(len(problems))
    ]
    is_root = [is_cycle[number] or not edges[number] for number in range(len(problems))]
    if any(is_root[number] and problem.kind not in WEAK for number, problem in enumerate(problems)):
        is_root = [
            root and (is_cycle[number] or problems[number].kind not in WEAK)
            for number, root in enumerate(is_root)
        ]
    return [
        WaitCause(is_root[number], is_cycle[number], held[number], problem.odd or free[number])
        for number, problem in enumerate(problems)
    ]


def _holders(problems: Sequence[HangProblem]) -> list[dict[int, list[int]]]:
    """Per problem, and rank that it waits for, the other problems at which that rank is."""
    problems_at: dict[int, list[int]] = {}
    for number, problem in enumerate(problems):
        for rank in problem.at:
            problems_at.setdefault(rank, []).append(number)
    return [
        {
            rank: [other for other in problems_at.get(rank, ()) if other != number]
            for rank in problem.blockers
        }
        for number, problem in enumerate(problems)
    ]


def ranked(
    problems: Sequence[HangProblem], how: Sequence[WaitCause], preceded: Container[int]
) -> list[int]:
    """The numbers of the problems, the one that explains most first.

    Args:
        problems, how: The problems and how they stand to each other.
        preceded: Those before which the missing rank owes another.
    """

    def key(number: int) -> tuple[bool, bool, int, float, int]:
        problem = problems[number]
        since = problem.since_ns if problem.since_ns is not None else float("inf")
        rank = ORDER.index(problem.kind)
        return not how[number].is_root, number in preceded, rank, since, number

    return sorted(range(len(problems)), key=key)


def _components(held: Sequence[Sequence[int]]) -> list[int]:
    """The strongly connected component of each node (Tarjan, without recursion)."""
    count = len(held)
    index, low = [-1] * count, [0] * count
    component = [-1] * count
    stack: list[int] = []
    clock = components = 0
    for start in range(count):
        if index[start] >= 0:
            continue
        work = [(start, 0)]
        while work:
            node, at = work.pop()
            if at == 0:
                index[node] = low[node] = clock
                clock += 1
                stack.append(node)
            descended = False
            for position in range(at, len(held[node])):
                other = held[node][position]
                if index[other] < 0:
                    work += [(node, position + 1), (other, 0)]
                    descended = True
                    break
                if component[other] < 0:
                    low[node] = min(low[node], index[other])
            if descended:
                continue
            if low[node] == index[node]:
                while True:
                    member = stack.pop()
                    component[member] = components
                    if member == node:
                        break
                components += 1
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
    return component
