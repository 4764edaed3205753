"""How wide the buckets of each lane are, so that the answer fits: lanes with little in them are
shown by the pixel, and the others share what is left."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Bools, Int64

MAX_SHIFT = 62


class LanesInView(Struct, frozen=True, eq=False):
    """Lanes that have something between ``start_ns`` and ``end_ns``.

    Attributes:
        lane: Their numbers.
        begun: First place of each lane whose slice starts in the view.
        end: First place behind it whose slice starts after the view.
        reaches_in: Whether the slice before ``begun`` reaches into the view.
        start_ns: Start of the view.
        end_ns: End of the view, not included.
    """

    lane: Int64
    begun: Int64
    end: Int64
    reaches_in: Bools
    start_ns: int
    end_ns: int

    def first_lanes(self, count: int) -> LanesInView:
        """Only the first ``count`` of them."""
        return LanesInView(
            self.lane[:count],
            self.begun[:count],
            self.end[:count],
            self.reaches_in[:count],
            self.start_ns,
            self.end_ns,
        )

    def bucket_counts(self, shift: Int64) -> Int64:
        """How many buckets of ``2**shift[i]`` ns, aligned to their width, the view touches."""
        counts: Int64 = ((self.end_ns - 1) >> shift) - (self.start_ns >> shift) + 1
        return counts


def cell_allowance(inside: LanesInView, shift: int, cells: int) -> int:
    """The largest number A such that ``cells`` suffice when every lane has as many as it can fill
    with buckets of ``2**shift`` ns, but at most A; at least 1."""
    buckets = int(inside.bucket_counts(np.array([shift]))[0])
    wanted = np.sort(np.minimum(inside.end - inside.begun, buckets))
    if int(wanted.sum()) <= cells:
        return buckets
    # With the i smallest satisfied, the others share the rest evenly.
    rest = cells - np.concatenate((np.zeros(1, np.int64), np.cumsum(wanted[:-1])))
    share = rest // np.arange(len(wanted), 0, -1)
    return max(1, int(share[np.argmax(share <= wanted)]))


def bucket_shifts(inside: LanesInView, shift: int, allowed: int) -> Int64:
    """Exponent of the bucket width of each lane: ``shift``, or as much more as makes at most about
    ``allowed`` buckets where the lane has more slices than that."""
    count = inside.end - inside.begun
    shifts = np.full(len(count), shift, np.int64)
    crowded = np.flatnonzero(count > allowed)
    while len(crowded):
        over = inside.bucket_counts(shifts)[crowded] > allowed + 1
        crowded = crowded[over & (shifts[crowded] < MAX_SHIFT)]
        shifts[crowded] += 1
    return shifts
