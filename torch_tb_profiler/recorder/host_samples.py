"""Samples made of what a system counts: of the host, of this process, of those that load its data.

Rates belong to the interval that ends when they are read. What each metric is:
``knowledge/resources.toml``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.counts import CPU_PARTS, RATES, VALUES, Counts, System
from torch_tb_profiler.recorder.sample_log import Rates, Reading

PERCENT = "%"


class Probe(Protocol):
    """Something that is read again and again."""

    def read(self) -> tuple[int, Reading]:
        """When it was read, on the clock of :data:`clock.perf_ns`, and what it said."""


def this_system() -> System:
    """What tells of this machine.

    Raises:
        ImportError: psutil is needed here, and cannot be used.
        OSError: the machine tells nothing.
    """
    if sys.platform == "linux":
        from torch_tb_profiler.recorder.linux_counts import LinuxSystem  # noqa: PLC0415

        return LinuxSystem()
    from torch_tb_profiler.recorder.psutil_counts import PsutilSystem  # noqa: PLC0415

    return PsutilSystem(import_module("psutil"))


class Metrics:
    """The metrics of counts that are read together."""

    def __init__(self, counts: Callable[[], Counts]) -> None:
        """Read nothing yet."""
        self._counts = counts
        self._rates = Rates()

    def read(self) -> tuple[int, Reading]:
        """Rates of the counters, values as they are."""
        time_ns = clock.perf_ns()
        return time_ns, self.reading(self._counts(), time_ns)

    def reading(self, counts: Counts, time_ns: int) -> Reading:
        """The metrics of counts that were read at a time."""
        told: Reading = {}
        for metric, count in counts.items():
            if metric in RATES:
                unit, factor = RATES[metric]
                rate = self._rates.per_second(metric, count, time_ns)
                told[metric] = (unit, None if rate is None else rate * factor)
            else:
                told[metric] = (VALUES[metric], count)
        return told


class HostCpu:
    """The cores of the host, all together: of each part its share of their time."""

    def __init__(self, counts: Callable[[], Counts]) -> None:
        """Read nothing yet."""
        self._counts = counts
        self._others = Metrics(counts)
        self._last: Counts | None = None

    def read(self) -> tuple[int, Reading]:
        """The shares, and the metrics of what else is counted."""
        time_ns = clock.perf_ns()
        counts = self._counts()
        parts = {part: counts.pop(part) for part in CPU_PARTS if part in counts}
        reading: Reading = {part: (PERCENT, share) for part, share in self._shares(parts).items()}
        return time_ns, reading | self._others.reading(counts, time_ns)

    def _shares(self, now: Counts) -> dict[str, float | None]:
        """Of each part its share of what all grew by. Time that waits for I/O may shrink: proc(5)
        says so."""
        last, self._last = self._last, now
        if last is None:
            return dict.fromkeys(now)
        grown = {part: max(0.0, now[part] - last.get(part, now[part])) for part in now}
        total = sum(grown.values())
        return {part: 100 * each / total if total > 0 else None for part, each in grown.items()}
