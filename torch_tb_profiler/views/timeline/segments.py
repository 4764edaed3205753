"""Many sorted stretches of one array, searched and enumerated all at once."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int64


def first_at_or_after(values: Int64, low: Int64, high: Int64, wanted: Int64) -> Int64:
    """Per ``i`` the first place of ``values[low[i]:high[i]]`` (sorted) that is ≥ ``wanted[i]``.

    ``high[i]`` where there is none. A joint key for all stretches could overflow with the times of
    damaged traces; this bisects them side by side instead.
    """
    low, high = low.copy(), high.copy()
    open_ = np.flatnonzero(low < high)
    while len(open_):
        middle = (low[open_] + high[open_]) >> 1
        below = values[middle] < wanted[open_]
        low[open_[below]] = middle[below] + 1
        high[open_[~below]] = middle[~below]
        open_ = open_[low[open_] < high[open_]]
    return low


def enumerated(first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """All places of the stretches ``[first[i], last[i])`` in a row, and the ``i`` of each."""
    counts = last - first
    owner = np.repeat(np.arange(len(counts)), counts)
    offset = first - np.cumsum(counts) + counts
    return np.arange(len(owner)) + offset[owner], owner
