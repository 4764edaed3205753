"""Samples that are not written yet, and the conversion of counters into rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Reading = dict[str, tuple[str, float | None]]
"""Metric → (unit, value); the value is None if it is unknown at this time."""

DECIMALS = 3
"""Decimal places of written values."""


class CounterRates:
    """Converts growing counters into rates over the interval since the last read."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, float]] = {}

    def per_second(self, key: str, count: float, time_ns: int) -> float | None:
        """Growth per second since the last read; None as for :meth:`growth`."""
        grown = self.growth(key, count, time_ns)
        return None if grown is None else grown[0] * 1e9 / grown[1]

    def growth(self, key: str, count: float, time_ns: int) -> tuple[float, int] | None:
        """Growth of a counter since the last read, and the nanoseconds since then.

        None at the first read, if no time has passed (the next read covers both), and if the
        counter decreased: it wrapped or was reset.
        """
        last = self._last.get(key)
        if last is not None and time_ns <= last[0]:
            return None
        self._last[key] = (time_ns, count)
        if last is None or count < last[1]:
            return None
        return count - last[1], time_ns - last[0]


class SampleLog:
    """Collects samples by source and by metrics that are read together, for blocks of the
    journal."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, tuple[str, ...]], list[int]] = {}
        self._readings: dict[tuple[str, tuple[str, ...]], list[Reading]] = {}

    def add(self, source: str, time_ns: int, reading: Reading) -> None:
        """Add a reading of ``source`` at a time in nanoseconds since 1970."""
        if reading:
            key = (source, tuple(reading))
            self._times.setdefault(key, []).append(time_ns)
            self._readings.setdefault(key, []).append(reading)

    def pop_blocks(self) -> list[dict[str, Any]]:
        """The blocks of all samples added since the last call."""
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
            "values": [_rounded(reading[metric][1]) for reading in readings],
        }
        for metric in metrics
    }


def _rounded(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    rounded = round(value, DECIMALS)
    return int(rounded) if rounded == int(rounded) else rounded
