"""What a rank did on its main thread and devices: enough of it for the moment of a hang.

The moment follows from the dumps of all ranks, and a summary of one rank is stored without them.
What lasts through a hang is long, or among the last that was recorded: both are in the table, so
that a few dozen rows answer for any moment within a long wait.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LAST_ACTIVITY = pl.Schema(
    {
        "is_device": pl.Boolean,  # work of a device, else a slice of the main thread
        "is_last": pl.Boolean,  # among the last; others are among the longest
        "name": pl.String,
        "start_ns": pl.Int64,
        "end_ns": pl.Int64,
    }
)
"""One row per slice, by start, of nested ones the outer first."""

LAST_SLICES, LONGEST_SLICES = 32, 32
"""Rows of the main thread: a stack of Python is some twenty frames deep."""
LAST_WORK, LONGEST_WORK = 16, 8
MAX_NAME = 160
_PYTHON_STEP = "ProfilerStep#"


@per_trace
def last_activity(trace: Trace) -> pl.DataFrame:
    """The last and longest slices of one rank, as :data:`LAST_ACTIVITY`."""
    slices, work = trace.slices, trace.device_work
    rows = np.flatnonzero(slices["track"].to_numpy() == _main_track(trace))
    parts = [
        _chosen(trace, slices[rows], LAST_SLICES, LONGEST_SLICES, is_device=False),
        _chosen(trace, work, LAST_WORK, LONGEST_WORK, is_device=True),
    ]
    return pl.concat(parts)


def _chosen(
    trace: Trace, table: pl.DataFrame, last: int, longest: int, *, is_device: bool
) -> pl.DataFrame:
    """The rows of a table of slices that end last or take longest."""
    start = table["start_ns"].to_numpy()
    duration = table["dur_ns"].to_numpy()
    end = start + duration
    is_last = _largest(end, last)
    rows = np.flatnonzero(is_last | _largest(duration, longest))
    rows = rows[np.lexsort((-duration[rows], start[rows]))]
    names = [
        " ".join((trace.text(code) or "").split())[:MAX_NAME] for code in table["name_code"][rows]
    ]
    frame = pl.DataFrame(
        {
            "is_device": np.full(len(rows), is_device),
            "is_last": is_last[rows],
            "name": names,
            "start_ns": start[rows],
            "end_ns": end[rows],
        },
        schema=LAST_ACTIVITY,
    )
    return frame.filter(~pl.col("name").str.starts_with(_PYTHON_STEP))


def _largest(values: Int64, count: int) -> Bools:
    """Whether each value is among the ``count`` largest; of equal ones the later."""
    chosen = np.zeros(len(values), np.bool_)
    chosen[np.argsort(values, kind="stable")[-count:]] = True
    return chosen


def _main_track(trace: Trace) -> int:
    """The track of the main thread: its number is that of the process; else that of the steps, else
    that with most slices on the host; -1 where there is none."""
    tracks = trace.tracks.filter(~pl.col("is_device"))
    counts = dict(
        trace.slices.filter(pl.col("track").is_in(tracks["track"].to_list()))
        .group_by("track")
        .len()
        .iter_rows()
    )
    if not counts:
        return -1
    named = tracks.filter((pl.col("pid") == pl.col("tid")) & pl.col("track").is_in(list(counts)))
    if named.height:
        counts = {track: counts[track] for track in named["track"].to_list()}
        return _busiest(counts)
    of_steps = trace.steps["slice"].drop_nulls()
    if len(of_steps):
        return int(trace.slices["track"][of_steps[0]])
    return _busiest(counts)


def _busiest(counts: dict[int, int]) -> int:
    """The track with most slices; of equal ones the first."""
    return max(counts, key=lambda track: (counts[track], -track))
