"""The longest parts of runs that come again. Definitions: ``docs/views-sequences.md#sequences``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Run = tuple[int, ...]
Place = tuple[int, int]
"""Number of a run, and where in it."""

SHORTEST, LONGEST = 2, 12
"""How many kernels a sequence has."""

LEAST_TIMES = 3
"""A sequence that comes less often is none."""


def repeated(runs: Sequence[Run], times: Sequence[int]) -> dict[Run, list[Place]]:
    """The sequences, and where they begin in the runs; they do not overlap.

    The longest go first, among those of one length the most frequent, then the first to come.

    Args:
        runs: Different runs.
        times: How often each of them comes.
    """
    free = [bytearray(b"\x01") * len(run) for run in runs]
    found: dict[Run, list[Place]] = {}
    for length in range(LONGEST, SHORTEST - 1, -1):
        windows: dict[Run, list[Place]] = defaultdict(list)
        for number, run in enumerate(runs):
            for at in range(len(run) - length + 1):
                windows[run[at : at + length]].append((number, at))
        often = {
            text: count
            for text, places in windows.items()
            if (count := _count(_apart(places, free, length), times)) >= LEAST_TIMES
        }
        for text in sorted(often, key=lambda text: -often[text]):
            places = _apart(windows[text], free, length)
            if _count(places, times) >= LEAST_TIMES:
                found[text] = places
                for number, at in places:
                    free[number][at : at + length] = bytes(length)
    return found


def _apart(places: list[Place], free: list[bytearray], length: int) -> list[Place]:
    """Of places in order those that are free and do not overlap, from the first on."""
    chosen: list[Place] = []
    last, until = -1, 0
    for number, at in places:
        if number == last and at < until:
            continue
        if all(free[number][at : at + length]):
            chosen.append((number, at))
            last, until = number, at + length
    return chosen


def _count(places: list[Place], times: Sequence[int]) -> int:
    return sum(times[number] for number, _ in places)
