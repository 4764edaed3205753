"""Longest matching runs of two sequences, in time that grows with their length."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

MAX_PASSES = 32
"""How often an element is looked at on average. Sequences of many single matches would need one
pass for each of them; what is left after so many stays unmatched."""


class Run(NamedTuple):
    """``left[start_left : start_left + size]`` equals the like part of ``right``."""

    start_left: int
    start_right: int
    size: int


def matching_runs(left: Sequence[str], right: Sequence[str]) -> list[Run]:
    """The longest run that both have (of equal ones the first in ``left``, then in ``right``), and
    in the same way those before and behind it, in no particular order."""
    runs: list[Run] = []
    work = MAX_PASSES * (len(left) + len(right))
    waiting = deque([(0, len(left), 0, len(right))])
    while waiting and work > 0:
        from_left, to_left, from_right, to_right = waiting.popleft()
        if from_left == to_left or from_right == to_right:
            continue
        work -= to_left - from_left + to_right - from_right
        run = _longest_run(left[from_left:to_left], right[from_right:to_right])
        if not run.size:
            continue
        at_left, at_right = from_left + run.start_left, from_right + run.start_right
        runs.append(Run(at_left, at_right, run.size))
        waiting.append((from_left, at_left, from_right, at_right))
        waiting.append((at_left + run.size, to_left, at_right + run.size, to_right))
    return runs


def _longest_run(left: Sequence[str], right: Sequence[str]) -> Run:
    if left == right:
        return Run(0, 0, len(left))
    runs_of = _Substrings(right)
    best = Run(0, 0, 0)
    state = size = 0
    for position, element in enumerate(left):
        while state and element not in runs_of.next[state]:
            state = runs_of.shorter[state]
            size = runs_of.longest[state]
        if element in runs_of.next[state]:
            state, size = runs_of.next[state][element], size + 1
        if size > best.size:
            best = Run(position - size + 1, runs_of.first_end[state] - size + 1, size)
    return best


class _Substrings:
    """All runs of a sequence as a suffix automaton (Blumer et al. 1985): state 0 is the empty run,
    other states are the runs that end at the same places.

    Attributes:
        next: Per state the state one element further, by element.
        shorter: Per state that of its longest suffix that ends at more places.
        longest: Per state the length of its longest run.
        first_end: Per state the first place where its runs end.
    """

    def __init__(self, elements: Sequence[str]) -> None:
        self.next: list[dict[str, int]] = [{}]
        self.shorter = [-1]
        self.longest = [0]
        self.first_end = [-1]
        last = 0
        for position, element in enumerate(elements):
            last = self._extended(last, element, position)

    def _extended(self, last: int, element: str, position: int) -> int:
        """Add the runs that end with ``element`` at ``place``; their state."""
        new = self._add({}, 0, self.longest[last] + 1, position)
        state = last
        while state >= 0 and element not in self.next[state]:
            self.next[state][element] = new
            state = self.shorter[state]
        if state < 0:
            return new
        known = self.next[state][element]
        if self.longest[known] == self.longest[state] + 1:
            self.shorter[new] = known
            return new
        split = self._add(
            dict(self.next[known]),
            self.shorter[known],
            self.longest[state] + 1,
            self.first_end[known],
        )
        while state >= 0 and self.next[state].get(element) == known:
            self.next[state][element] = split
            state = self.shorter[state]
        self.shorter[known] = self.shorter[new] = split
        return new

    def _add(self, after: dict[str, int], shorter: int, longest: int, first_end: int) -> int:
        self.next.append(after)
        self.shorter.append(shorter)
        self.longest.append(longest)
        self.first_end.append(first_end)
        return len(self.next) - 1
