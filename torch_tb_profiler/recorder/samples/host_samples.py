"""Samples computed from system counters: of the host, this process and its loader workers.

A rate covers the interval that ends when it is read. Meaning of the metrics:
``knowledge/resources.toml``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from torch_tb_profiler.recorder import clock
from torch_tb_profiler.recorder.samples.counters import (
    CPU_PARTS,
    RATES,
    VALUES,
    Counts,
    SystemCounters,
)
from torch_tb_profiler.recorder.samples.sample_log import CounterRates, Reading

PERCENT = "%"


class Probe(Protocol):
    """A source of samples that is read repeatedly."""

    def read(self) -> tuple[int, Reading]:
        """Time of the read (of :data:`clock.perf_ns`) and the reading."""


def this_system() -> SystemCounters:
    """The counters of this machine.

    Raises:
        ImportError: psutil is needed on this platform and not usable.
        OSError: the system provides no counters.
    """
    if sys.platform == "linux":
        from torch_tb_profiler.recorder.samples.linux_counters import LinuxSystem  # noqa: PLC0415

        return LinuxSystem()
    from torch_tb_profiler.recorder.samples.psutil_counters import PsutilSystem  # noqa: PLC0415

    return PsutilSystem(import_module("psutil"))


class CounterMetrics:
    """The metrics of counters that are read together."""

    def __init__(self, counts: Callable[[], Counts]) -> None:
        """Create for a function that reads the counters."""
        self._counts = counts
        self._rates = CounterRates()

    def read(self) -> tuple[int, Reading]:
        """Read rates of counters, and gauges unchanged."""
        time_ns = clock.perf_ns()
        return time_ns, self.reading(self._counts(), time_ns)

    def reading(self, counts: Counts, time_ns: int) -> Reading:
        """Convert counters read at a time into metrics."""
        reading: Reading = {}
        for metric, count in counts.items():
            if metric in RATES:
                unit, factor = RATES[metric]
                rate = self._rates.per_second(metric, count, time_ns)
                reading[metric] = (unit, None if rate is None else rate * factor)
            else:
                reading[metric] = (VALUES[metric], count)
        return reading


class HostCpuShares:
    """CPU time of the host over all cores, as shares of user, system, idle time and so on."""

    def __init__(self, counts: Callable[[], Counts]) -> None:
        """Create for a function that reads the counters."""
        self._counts = counts
        self._others = CounterMetrics(counts)
        self._last: Counts | None = None

    def read(self) -> tuple[int, Reading]:
        """Read the shares, and the metrics of the other counters."""
        time_ns = clock.perf_ns()
        counts = self._counts()
        parts = {part: counts.pop(part) for part in CPU_PARTS if part in counts}
        reading: Reading = {part: (PERCENT, share) for part, share in self._shares(parts).items()}
        return time_ns, reading | self._others.reading(counts, time_ns)

    def _shares(self, now: Counts) -> dict[str, float | None]:
        """Share of each part in the growth of all. I/O wait time may decrease, see proc(5)."""
        last, self._last = self._last, now
        if last is None:
            return dict.fromkeys(now)
        grown = {part: max(0.0, now[part] - last.get(part, now[part])) for part in now}
        total = sum(grown.values())
        return {part: 100 * each / total if total > 0 else None for part, each in grown.items()}
