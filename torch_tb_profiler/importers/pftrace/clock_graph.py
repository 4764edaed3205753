"""Clocks of a trace and the snapshots that relate them.

A snapshot reads several clocks at one moment. A clock that no snapshot reads together with the
trace's clock is converted through others, by the fewest snapshots
(https://perfetto.dev/docs/concepts/clock-sync).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np

from torch_tb_profiler.trace.columns import ABSENT, Int64

ClockKey = tuple[int, int]
"""Sequence of a clock (-1 for a global one), and its id."""

USABLE_NS = 2**62
"""Larger times are damage; the sum of two smaller ones does not overflow."""


class ClockGraph:
    """Converts between clocks; a snapshot relates each pair of the clocks that it reads.

    Attributes:
        target: The clock that all others are converted to.
    """

    def __init__(self, target: ClockKey) -> None:
        self.target = target
        self._snapshots: list[Mapping[ClockKey, int]] = []
        self._reading: dict[ClockKey, list[int]] = {}
        self._distance: dict[ClockKey, int] = {target: 0}
        self._next: dict[ClockKey, ClockKey] = {}
        self._reach: dict[int, int] = {}  # snapshot → the least distance of its clocks so far

    def set_target(self, target: ClockKey) -> None:
        """Convert to another clock from now on."""
        if target != self.target:
            self.target = target
            self._distance, self._next, self._reach = {target: 0}, {}, {}
            self._relate(self._reading.get(target, ()))

    def add(self, readings: Mapping[ClockKey, int]) -> None:
        """Add a snapshot: clock → its value in nanoseconds."""
        number = len(self._snapshots)
        self._snapshots.append(readings)
        for clock in readings:
            self._reading.setdefault(clock, []).append(number)
        self._relate([number])

    def is_related(self, clock: ClockKey) -> bool:
        """Whether snapshots relate a clock to the target."""
        return clock in self._distance

    def _relate(self, snapshots: Iterable[int]) -> None:
        """Shorten the ways of all clocks after a change: a snapshot is read once per shorter way
        to one of its clocks."""
        pending: deque[tuple[int, ClockKey]] = deque()
        for number in snapshots:
            known = [clock for clock in self._snapshots[number] if clock in self._distance]
            if known:
                self._reach_from(min(known, key=self._distance.__getitem__), [number], pending)
        while pending:
            number, nearest = pending.popleft()
            distance = self._distance[nearest] + 1
            for clock in self._snapshots[number]:
                if self._distance.get(clock, distance + 1) > distance:
                    self._distance[clock], self._next[clock] = distance, nearest
                    self._reach_from(clock, self._reading[clock], pending)

    def _reach_from(
        self, clock: ClockKey, snapshots: Iterable[int], pending: deque[tuple[int, ClockKey]]
    ) -> None:
        """Put into ``pending`` those snapshots that no clock reached in a way as short."""
        distance = self._distance[clock]
        for number in snapshots:
            if self._reach.get(number, distance + 1) > distance:
                self._reach[number] = distance
                pending.append((number, clock))

    def convert(self, values: Int64, clock: ClockKey) -> Int64:
        """Times of a clock as times of the target.

        Each step uses the last snapshot at or before a time, else the first one.

        Args:
            values: Times of the clock in nanoseconds, or :data:`ABSENT`.
            clock: The clock.

        Returns:
            Nanoseconds of the target; :data:`ABSENT` where they are implausible, or the clock is
            not related to the target.
        """
        if clock not in self._distance:
            return np.full(values.size, ABSENT, np.int64)
        is_usable = (values >= 0) & (values < USABLE_NS)
        while clock != self.target:
            following = self._next[clock]
            before, after = self._pairs(clock, following)
            index = np.maximum(np.searchsorted(before, values, "right") - 1, 0)
            values = after[index] + (values - before[index])
            is_usable &= (values >= 0) & (values < USABLE_NS)
            values = np.where(is_usable, values, 0)
            clock = following
        return np.where(is_usable, values, ABSENT)

    def _pairs(self, clock: ClockKey, other: ClockKey) -> tuple[Int64, Int64]:
        """The values of two clocks in the snapshots that read both, in order of the first."""
        numbers = min(self._reading[clock], self._reading[other], key=len)
        readings = [self._snapshots[number] for number in numbers]
        both = [each for each in readings if clock in each and other in each]
        values = np.array([(each[clock], each[other]) for each in both], np.int64)
        order = np.argsort(values[:, 0], kind="stable")
        return values[order, 0], values[order, 1]
