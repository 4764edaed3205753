"""What was sampled and is not written yet, and how counters become rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Reading = dict[str, tuple[str, float | None]]
"""Metric → unit, value; None where it is not known of this moment."""

DECIMALS = 3
"""Digits behind the point that are kept."""


class Rates:
    """Counters that only grow, as rates of the interval that ends when they are read."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}

    def per_second(self, key: str, count: float, time_ns: int) -> float | None:
        """How fast a counter grew since it was read last; None as :meth:`growth`."""
        grown = self.growth(key, count, time_ns)
        return None if grown is None else grown[0] * 1e9 / grown[1]

    def growth(self, key: str, count: float, time_ns: int) -> tuple[float, int] | None:
        """By how much a counter grew since it was read last, and in how many nanoseconds.

        None at the first look, where no time went by (the next look tells of both), and where it
        counts less than before: it wrapped, or counts something else now.
        """
        last = self._last.get(key)
        if last is not None and time_ns <= last[0]:
            return None
        self._last[key] = (time_ns, count)
        if last is None or count < last[1]:
            return None
        return count - last[1], time_ns - last[0]


class SampleLog:
    """Samples by source and by the metrics that are read together, as blocks of the journal."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        self._readings: dict[tuple[str, tuple[str, ...]], list[Reading]] = {}

    def add(self, source: str, time_ns: int, reading: Reading) -> None:
        """Keep what was read of ``source`` at a time in nanoseconds since 1970."""
        if reading:
            key = (source, tuple(reading))
            self._times.setdefault(key, []).append(time_ns)
            self._readings.setdefault(key, []).append(reading)

    def take(self) -> list[dict[str, Any]]:
        """The blocks of all that was added since the last call."""
        blocks = [
            {
                "kind": "samples",
                "source": source,
                "time_ns": self._times[source, metrics],
                "metrics": _columns(metrics, readings),
            }
            for (source, metrics), readings in self._readings.items()
        ]
        self._times, self._readings = {}, {}
        return blocks


def _columns(metrics: tuple[str, ...], readings: list[Reading]) -> Mapping[str, object]:
    return {
        metric: {
            "unit": readings[0][metric][0],
            "values": [_short(reading[metric][1]) for reading in readings],
        }
        for metric in metrics
    }


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    rounded = round(value, DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded
