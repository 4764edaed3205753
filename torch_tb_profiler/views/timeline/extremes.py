"""The lowest and highest of any stretch of an array, at a cost that does not grow with it."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Float64, Int64

BLOCK = 256


class Extremes:
    """Answers for any stretches of ``values`` that hold no NaN, exactly."""

    def __init__(self, values: Float64) -> None:
        self._values = values
        starts = np.arange(0, len(values), BLOCK)
        self._lowest = np.minimum.reduceat(values, starts) if len(values) else values
        self._highest = np.maximum.reduceat(values, starts) if len(values) else values

    def of(self, first: Int64, last: Int64) -> tuple[Float64, Float64]:
        """Lowest and highest of each ``[first[i], last[i])``, none empty."""
        whole_first = -(-first // BLOCK)
        whole_last = last // BLOCK
        has_blocks = whole_last > whole_first
        head = np.where(has_blocks, whole_first * BLOCK, last)
        tail = np.where(has_blocks, whole_last * BLOCK, last)
        lowest = np.full(len(first), np.inf)
        highest = np.full(len(first), -np.inf)
        for values, low, high in (
            ((self._values, self._values), first, head),
            ((self._lowest, self._highest), whole_first, np.maximum(whole_last, whole_first)),
            ((self._values, self._values), tail, last),
        ):
            rows = np.flatnonzero(high > low)
            lowest[rows] = np.minimum(
                lowest[rows], _reduced(np.minimum, values[0], low[rows], high[rows])
            )
            highest[rows] = np.maximum(
                highest[rows], _reduced(np.maximum, values[1], low[rows], high[rows])
            )
        return lowest, highest


def _reduced(reduce: np.ufunc, values: Float64, low: Int64, high: Int64) -> Float64:
    """``reduce`` over each ``values[low[i]:high[i]]``, none empty."""
    if not len(low):
        return np.empty(0)
    # reduceat takes from each index to the next: every second answer is one of a stretch. One
    # value behind keeps the last index inside.
    padded = np.append(values[: high.max()], values[:1])
    bounds = np.column_stack((low, high)).reshape(-1)
    reduced: Float64 = reduce.reduceat(padded, bounds)[::2]
    return reduced
