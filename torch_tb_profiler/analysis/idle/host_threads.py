"""Activity of the host threads that prepare and launch device work.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    empty,
    subtract,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.waits import long_calls, waits
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

PIECE_NS = 1_000_000
"""Shorter stretches without a record between two records of a thread count as activity: code
between operators."""

_OPERATORS = (
    Category.OPERATOR,
    Category.PYTHON_OPERATOR,
    Category.OPTIMIZER,
    Category.RUNTIME,
)
_FRAMES = (Category.ANNOTATION, Category.MODULE, Category.PYTHON_FUNCTION)


class HostThread(Struct, frozen=True, eq=False):
    """When one thread, or several together, did what.

    Attributes:
        waits: When it was in a synchronizing call.
        loading: When it waited for, or loaded, a batch.
        long_calls: When it was in a single other runtime call of 0.1 ms or more.
        operators: When it was in an operator or a runtime call.
        frames: When it was in a Python frame or a user range.
    """

    waits: Intervals
    loading: Intervals
    long_calls: Intervals
    operators: Intervals
    frames: Intervals

    @property
    def activity(self) -> Intervals:
        """When it was active and not waiting, code between two records included."""
        return self._join(self.loading, self.operators, self.frames)

    @property
    def at_work(self) -> Intervals:
        """The same without frames and ranges, which may contain waits for another thread."""
        return self._join(self.loading, self.operators)

    def _join(self, *records: Intervals) -> Intervals:
        known = union_all(*records, self.waits)
        joined = union(known.start_ns, known.end_ns + PIECE_NS)
        return subtract(Intervals(joined.start_ns, joined.end_ns - PIECE_NS), self.waits)


def merge_threads(threads: list[HostThread]) -> HostThread:
    """When any of some threads did what."""
    if not threads:
        return HostThread(empty(), empty(), empty(), empty(), empty())
    return HostThread(
        union_all(*(thread.waits for thread in threads)),
        union_all(*(thread.loading for thread in threads)),
        union_all(*(thread.long_calls for thread in threads)),
        union_all(*(thread.operators for thread in threads)),
        union_all(*(thread.frames for thread in threads)),
    )


@per_trace
def host_threads(trace: Trace) -> dict[int, HostThread]:
    """The threads that launched device work, ran operators or loaded data, by track. Operators
    that took no time are those of devices: the host did not run them."""
    tracks = trace.slices["track"].to_numpy()
    launches = trace.device_work["launch"].drop_nulls().unique().to_numpy()
    is_work = np.isin(trace.slices["category"].to_numpy(), (Category.OPERATOR, Category.DATALOADER))
    is_work &= trace.slices["dur_ns"].to_numpy() > 0
    is_work[launches] = True
    waiting, long = waits(trace), long_calls(trace)
    working_tracks = distinct_values(tracks[is_work])
    slice_rows, wait_rows, long_rows = (
        _rows_of(frame["track"].to_numpy(), working_tracks)
        for frame in (trace.slices, waiting, long)
    )
    return {
        track: _thread(trace.slices[slice_rows[row]], waiting[wait_rows[row]], long[long_rows[row]])
        for row, track in enumerate(working_tracks.tolist())
    }


@per_trace
def process_of_track(trace: Trace) -> Int64:
    """Per track its process, -1 where it has none."""
    return indices(trace.tracks.sort("track")["process"])


def _rows_of(tracks: Int32, selected: Int32) -> list[slice]:
    """Per selected track its rows of a table sorted by track; in one lookup and one type, since
    each lookup in another type would convert all tracks."""
    first, until = np.searchsorted(tracks, selected), np.searchsorted(tracks, selected, "right")
    return [slice(*edges) for edges in zip(first.tolist(), until.tolist(), strict=True)]


@per_trace
def host_activity(trace: Trace) -> Intervals:
    """When any of these threads was active and not waiting: no step is shorter than that.

    A thread in a frame or range may wait for another thread that waits (for backward, for a
    worker): at such times only operators, calls and loading count.
    """
    threads = list(host_threads(trace).values())
    active = union_all(empty(), *(thread.activity for thread in threads))
    at_work = union_all(empty(), *(thread.at_work for thread in threads))
    return union_all(at_work, subtract(active, merge_threads(threads).waits))


def _thread(slices: pl.DataFrame, waiting: pl.DataFrame, long: pl.DataFrame) -> HostThread:
    category = slices["category"].to_numpy()
    start = slices["start_ns"].to_numpy()
    dur = slices["dur_ns"].to_numpy()
    long_start = long["start_ns"].to_numpy()
    return HostThread(
        union(waiting["start_ns"].to_numpy(), waiting["end_ns"].to_numpy()),
        _union_of(start, dur, category == Category.DATALOADER),
        union(long_start, long_start + long["dur_ns"].to_numpy()),
        _union_of(start, dur, np.isin(category, _OPERATORS)),
        _union_of(start, dur, np.isin(category, _FRAMES)),
    )


def _union_of(start_ns: Int64, dur_ns: Int64, mask: Bools) -> Intervals:
    start = start_ns[mask]
    return union(start, start + dur_ns[mask])
