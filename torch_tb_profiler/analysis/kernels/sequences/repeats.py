"""The longest repeated parts of runs. Definitions: ``docs/views-sequences.md#sequences``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

Run = tuple[int, ...]
RunPosition = tuple[int, int]
"""Index of a run, and position in it."""

SHORTEST, LONGEST = 2, 12
"""Fewest and most kernels of a sequence."""

MIN_REPEATS = 3
"""A sequence repeats at least so often."""


def find_repeats(runs: Sequence[Run], times: Sequence[int]) -> dict[Run, list[RunPosition]]:
    """The repeated sequences, and where they start in the runs; they do not overlap.

    The longest are taken first, among those of one length the most frequent, then the first.

    Args:
        runs: Distinct runs.
        times: How often each of them occurs.
    """
    free = [bytearray(b"\x01") * len(run) for run in runs]
    repeats: dict[Run, list[RunPosition]] = {}
    for length in range(LONGEST, SHORTEST - 1, -1):
        windows: dict[Run, list[RunPosition]] = defaultdict(list)
        for number, run in enumerate(runs):
            for start in range(len(run) - length + 1):
                windows[run[start : start + length]].append((number, start))
        frequent = {
            text: count
            for text, positions in windows.items()
            if (count := _count(_disjoint(positions, free, length), times)) >= MIN_REPEATS
        }
        for text in sorted(frequent, key=lambda text: -frequent[text]):
            positions = _disjoint(windows[text], free, length)
            if _count(positions, times) >= MIN_REPEATS:
                repeats[text] = positions
                for number, start in positions:
                    free[number][start : start + length] = bytes(length)
    return repeats


def _disjoint(
    positions: list[RunPosition], free: list[bytearray], length: int
) -> list[RunPosition]:
    """The free positions that do not overlap, taken greedily in order."""
    chosen: list[RunPosition] = []
    last, until = -1, 0
    for number, start in positions:
        if number == last and start < until:
            continue
        if all(free[number][start : start + length]):
            chosen.append((number, start))
            last, until = number, start + length
    return chosen


def _count(positions: list[RunPosition], times: Sequence[int]) -> int:
    return sum(times[number] for number, _ in positions)
