"""Stretches of time cut at the edges of windows, with where each piece comes from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.trace.columns import Int64


class Pieces(NamedTuple):
    """Non-empty pieces by window, then by time.

    Attributes:
        row: Number of the stretch each is a piece of.
        window: Number of the window it lies in.
        start_ns: Its start.
        end_ns: Its end.
    """

    row: Int64
    window: Int64
    start_ns: Int64
    end_ns: Int64

    @property
    def length_ns(self) -> Int64:
        """How long each is."""
        length: Int64 = self.end_ns - self.start_ns
        return length


def cut_at(stretches: Intervals, start_ns: Int64, end_ns: Int64) -> Pieces:
    """The pieces of ``stretches`` (sorted and disjoint; they may touch) in the windows
    ``[start_ns[i], end_ns[i])``."""
    first = np.searchsorted(stretches.end_ns, start_ns, side="right")
    last = np.searchsorted(stretches.start_ns, end_ns, side="left")
    counts = np.maximum(last - first, 0)
    window = np.repeat(np.arange(len(counts)), counts)
    row = np.arange(len(window)) + np.repeat(first - np.cumsum(counts) + counts, counts)
    return Pieces(
        row,
        window,
        np.maximum(stretches.start_ns[row], start_ns[window]),
        np.minimum(stretches.end_ns[row], end_ns[window]),
    )
