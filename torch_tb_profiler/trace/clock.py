"""One sortable number for (track, time), so that all tracks are searched at once."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.trace.columns import Int32, Int64


class TrackClock:
    """Turns (track, time) into one sortable int64.

    Comparisons with the times it was built from are exact for any time. If the times are too far
    apart for a joint key (damaged traces), their ranks are used instead.
    """

    def __init__(self, times_ns: Int64 | tuple[Int64, ...], track_count: int) -> None:
        parts = times_ns if isinstance(times_ns, tuple) else (times_ns,)
        filled = [part for part in parts if len(part)]
        self._ranked: Int64 | None = None
        first = min((int(part.min()) for part in filled), default=0)
        last = max((int(part.max()) for part in filled), default=0)
        if (last - first + 2) * (track_count + 1) >= 2**62:
            self._ranked = np.unique(np.concatenate(filled))
            first, last = 1, len(self._ranked)
        self._first, self._last, self._span = first, last, last - first + 2

    def keys(self, track: Int32 | Int64, time_ns: Int64) -> Int64:
        """One key per (track, time); tracks first, then times."""
        time = time_ns
        if self._ranked is not None:
            time = np.searchsorted(self._ranked, time_ns, "right")
        time = np.clip(time, self._first - 1, self._last)
        time -= self._first - 1
        keys: Int64 = track.astype(np.int64)
        keys *= self._span
        keys += time
        return keys
