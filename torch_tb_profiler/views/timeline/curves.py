"""Values over time, cut into buckets: what one pixel shows of a counter."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.views.timeline.extremes import Extremes


class Points(NamedTuple):
    """Buckets in which something changes, ascending, with the lowest, highest and last value in
    each; the last holds until the next point. NaN is unknown."""

    bucket: Int64
    lowest: Float64
    highest: Float64
    last: Float64


class Curve(Protocol):
    """A value as a function of time."""

    @property
    def maximum(self) -> float | None:
        """The largest value, None when there is none."""

    def points(self, edges_ns: Int64) -> Points:
        """The curve in the buckets ``[edges_ns[i], edges_ns[i + 1])``."""

    def mean(self, start_ns: int, end_ns: int) -> float | None:
        """Its mean over the part of ``[start_ns, end_ns)`` in which it is known; None if none."""


class StepCurve:
    """A value that holds from each of its times to the next; unknown before the first.

    Args:
        time_ns: Times in order; of equal ones the last counts at the end.
        value: Values, finite; NaN where it is not known, not of the first.
    """

    def __init__(self, time_ns: Int64, value: Float64) -> None:
        self._time_ns = time_ns
        self._value = value
        self._extremes = Extremes(_known(value))

    @classmethod
    def of_ranges(cls, start_ns: Int64, end_ns: Int64) -> StepCurve:
        """How many of the ranges ``[start_ns[i], end_ns[i])`` are open."""
        edges, where = factorize(np.concatenate((start_ns, end_ns)))
        change = np.concatenate((np.ones(len(start_ns)), -np.ones(len(end_ns))))
        return cls(edges, np.cumsum(np.bincount(where.reshape(-1), change, len(edges))))

    @property
    def maximum(self) -> float | None:
        """The largest value, None when there is none."""
        return float(np.nanmax(self._value)) if len(self._value) else None

    def points(self, edges_ns: Int64) -> Points:
        """See :class:`Curve`. A bucket's extremes include the value carried into it."""
        position = np.searchsorted(self._time_ns, edges_ns, "left")
        first, last = position[:-1], position[1:]
        rows = np.flatnonzero((last > first) | (np.arange(len(first)) == 0))
        first, last = first[rows], last[rows]
        carried = np.where(first > 0, self._value[first - 1] if len(self._value) else 0, np.nan)
        lowest, highest, final = carried.copy(), carried.copy(), carried.copy()
        moved = last > first
        low, high = self._extremes.of(first[moved], last[moved])
        lowest[moved] = np.fmin(lowest[moved], low)
        highest[moved] = np.fmax(highest[moved], high)
        final[moved] = self._value[last[moved] - 1]
        return Points(rows, lowest, highest, final)

    def mean(self, start_ns: int, end_ns: int) -> float | None:
        """See :class:`Curve`."""
        first = max(0, int(np.searchsorted(self._time_ns, start_ns, "right")) - 1)
        last = int(np.searchsorted(self._time_ns, end_ns, "left"))
        edges = np.append(np.maximum(self._time_ns[first:last], start_ns), end_ns)
        value, lengths = self._value[first:last], np.diff(edges)
        known = ~np.isnan(value)
        total = int(lengths[known].sum())
        return float((value[known] * lengths[known]).sum()) / total if total else None


def _known(value: Float64) -> Float64:
    """The values, and where one is NaN that before it."""
    unknown = np.isnan(value)
    if not unknown.any():
        return value
    row = np.where(unknown, 0, np.arange(len(value)))
    return value[np.maximum.accumulate(row)]


class MeanCurve(Struct, frozen=True, eq=False):
    """A value of which a bucket shows the mean; 0 outside its times.

    Attributes:
        edges_ns: When it changes, in order, as floats.
        integral: Its integral up to each edge.
        maximum: Its largest possible value.
    """

    edges_ns: Float64
    integral: Float64
    maximum: float | None = 100.0

    @classmethod
    def of_levels(cls, edges_ns: Int64, level: Float64) -> MeanCurve:
        """A percentage that is ``level[i]`` from ``edges_ns[i]`` on, 0 from the last."""
        areas = level[:-1] * np.diff(edges_ns)
        integral = np.concatenate((np.zeros(min(1, len(edges_ns))), np.cumsum(areas)))
        return cls(edges_ns.astype(np.float64), integral)

    def points(self, edges_ns: Int64) -> Points:
        """See :class:`Curve`; buckets of one mean in a row are one point."""
        bounds = edges_ns.astype(np.float64)
        if len(self.edges_ns):
            area = np.diff(np.interp(bounds, self.edges_ns, self.integral))
        else:
            area = np.zeros(len(bounds) - 1)
        mean = area / np.diff(bounds)
        # What rounding leaves of nothing is nothing.
        mean[mean < 1e-9] = 0.0
        rows = np.flatnonzero(np.append(True, mean[1:] != mean[:-1]))
        return Points(rows, mean[rows], mean[rows], mean[rows])

    def mean(self, start_ns: int, end_ns: int) -> float | None:
        """See :class:`Curve`."""
        return float(self.points(np.array([start_ns, end_ns], np.int64)).last[0])
