"""Fewer samples, where a recording holds more than anybody looks at."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Float64, Int64


def downsample(
    time_ns: Int64, values: Float64, place: Int64, most: int
) -> tuple[Int64, Float64, Int64]:
    """Times, values and series of samples, ordered by series and time. Of more than ``most`` each
    few in a row of a series become one, their mean, at the time of the first."""
    order = np.lexsort((time_ns, place))
    time_ns, values, place = time_ns[order], values[order], place[order]
    each = -(-len(order) // most)
    if each <= 1:
        return time_ns, values, place
    starts = np.ones(len(place), np.bool_)
    starts[1:] = place[1:] != place[:-1]
    begins = np.flatnonzero(starts)
    within_series = np.arange(len(place)) - np.repeat(
        begins, np.diff(np.append(begins, len(place)))
    )
    first = np.flatnonzero(within_series % each == 0)
    counts = np.diff(np.append(first, len(place)))
    return time_ns[first], np.add.reduceat(values, first) / counts, place[first]
