"""Signals that are constant over intervals, and their integrals over windows, vectorised.

Definitions: ``docs/metrics.md#measured-counters``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.recording.samples import (
    LONG,
    SampleSeries,
    median_interval_ns,
)
from torch_tb_profiler.trace.columns import Bools, Float64, Int64


class Signal(NamedTuple):
    """Values over disjoint, ascending intervals ``[start_ns, end_ns)``, none empty.

    Attributes:
        start_ns: Starts.
        end_ns: Ends.
        value: What holds in each.
    """

    start_ns: Int64
    end_ns: Int64
    value: Float64

    @property
    def covered_ns(self) -> int:
        """Summed length of the intervals."""
        return int((self.end_ns - self.start_ns).sum())


class WindowSums(NamedTuple):
    """A signal over windows of time, one value per window.

    Attributes:
        integral: Sum of value × length in ns over the intervals inside.
        covered_ns: Length of the intervals inside.
        first: The first interval that reaches into the window.
        last: The last one; below ``first`` where none does.
        first_ns: Length of the first one inside the window.
        last_ns: Length of the last one inside, 0 where that is the first one.
    """

    integral: Float64
    covered_ns: Int64
    first: Int64
    last: Int64
    first_ns: Int64
    last_ns: Int64

    @property
    def mean(self) -> Float64:
        """The time-weighted mean; NaN where a window holds no part of an interval."""
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Float64 = np.where(self.covered_ns > 0, self.integral / self.covered_ns, np.nan)
        return mean

    @property
    def samples(self) -> Int64:
        """How many intervals reach into each window."""
        samples: Int64 = np.maximum(self.last - self.first + 1, 0)
        return samples


def empty_signal() -> Signal:
    """A signal without values."""
    return Signal(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def sampled_signal(series: SampleSeries) -> Signal:
    """The signal of samples: a mean holds over the interval that ends at its time, any other value
    until the next; where that is missing for :data:`LONG` usual intervals, and at the end, for one
    usual interval. One value alone has no interval."""
    start = series.time_ns
    if series.interval_ns is not None:
        end = start + series.interval_ns
    elif len(start) > 1:
        usual = median_interval_ns(start)
        following = np.append(start[1:], start[-1] + usual)
        end = np.where(following - start > LONG * float(usual), start + usual, following)
    else:
        end = start
    filled = end > start
    return Signal(start[filled], end[filled], series.value[filled])


def window_sums(signal: Signal, start_ns: Int64, end_ns: Int64) -> WindowSums:
    """The signal over each window ``[start_ns[i], end_ns[i])``; windows may overlap and come in any
    order.

    What reaches over an edge is multiplied on its own, so that only what lies wholly inside a
    window comes from differences of sums over the whole recording.
    """
    count = len(signal.value)
    if not count:
        none = np.zeros(len(start_ns), np.int64)
        return WindowSums(none.astype(np.float64), none, none, none - 1, none, none)
    length = signal.end_ns - signal.start_ns
    first = np.searchsorted(signal.end_ns, start_ns, side="right")
    last = np.searchsorted(signal.start_ns, end_ns, side="left") - 1
    is_covered = (last >= first) & (end_ns > start_ns)
    first = np.where(is_covered, first, 0)
    last = np.where(is_covered, last, -1)

    def inside(row: Int64, where: Bools) -> Int64:
        begin = np.maximum(signal.start_ns[row], start_ns)
        finish = np.minimum(signal.end_ns[row], end_ns)
        return np.where(where, finish - begin, 0)

    several = last > first
    first_ns, last_ns = inside(first, is_covered), inside(last, several)
    time_before = np.append(0, np.cumsum(length))
    sum_before = np.append(0.0, np.cumsum(signal.value * length))
    rest_from, rest_to = np.where(several, first + 1, 0), np.where(several, last, 0)
    covered = first_ns + last_ns + time_before[rest_to] - time_before[rest_from]
    integral = (
        signal.value[first] * first_ns
        + signal.value[last] * last_ns
        + sum_before[rest_to]
        - sum_before[rest_from]
    )
    return WindowSums(integral, covered, first, last, first_ns, last_ns)
