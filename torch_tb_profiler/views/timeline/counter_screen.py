"""What one screen shows of the counters: per bucket the lowest, highest and last value."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.views.timeline.index import Timeline
from torch_tb_profiler.views.timeline.screen import Viewport

POINT_BYTES = 16


class CounterScreen(Struct, frozen=True, eq=False):
    """Points of some counters, one after the other; see :class:`.curves.Points`.

    Attributes:
        track: Track number of each counter.
        first: First point of each counter, and the end.
        shift: Exponent of the width of the buckets in ns, the same for all.
    """

    track: Int64
    first: Int64
    shift: int
    bucket: Int64
    lowest: Float64
    highest: Float64
    last: Float64


def counter_screen(
    timeline: Timeline, chosen: list[int], view: Viewport, max_bytes: int
) -> CounterScreen:
    """What ``view`` shows of the counters of the tracks ``chosen``, in at most ``max_bytes``."""
    shift = view.shift
    edges = _edges(view, shift)
    while len(chosen) * len(edges) * POINT_BYTES > max_bytes and len(edges) > 3:
        shift += 1
        edges = _edges(view, shift)
    parts = [timeline.counters[number].curve.points(edges) for number in chosen]
    counts = [len(part.bucket) for part in parts]
    return CounterScreen(
        track=np.array(chosen, np.int64),
        first=np.append(0, np.cumsum(counts, dtype=np.int64)),
        shift=shift,
        bucket=np.concatenate([np.empty(0, np.int64), *(part.bucket for part in parts)]),
        lowest=np.concatenate([np.empty(0), *(part.lowest for part in parts)]),
        highest=np.concatenate([np.empty(0), *(part.highest for part in parts)]),
        last=np.concatenate([np.empty(0), *(part.last for part in parts)]),
    )


def _edges(view: Viewport, shift: int) -> Int64:
    """Edges of the buckets of ``2**shift`` ns that the view touches, aligned to their width."""
    first, last = view.start_ns >> shift, (view.end_ns - 1) >> shift
    return np.arange(first, last + 2, dtype=np.int64) << shift
