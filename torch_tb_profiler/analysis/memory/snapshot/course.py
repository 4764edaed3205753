"""How much was allocated and reserved over time, with few points."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.memory.snapshot.lifetimes import side_frame
from torch_tb_profiler.analysis.memory.snapshot.moments import DeviceMoments, device_moments
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_POINTS = 2000
_POINTS_PER_BUCKET = 5


@per_trace
def courses(trace: Trace) -> tuple[Int64, ...]:
    """The events to draw of each of :func:`device_moments`, as :func:`course_rows` has them."""
    return tuple(course_rows(trace, moments) for moments in device_moments(trace))


def course_rows(trace: Trace, moments: DeviceMoments) -> Int64:
    """The events of a device to draw, ascending: all where they are few, else of each of equally
    long stretches of time the first, the last, those with the most and the least allocated and
    with the most reserved. The peak is always one of them.

    Returns:
        Rows of ``snapshot_events``, at most :data:`MAX_POINTS`.
    """
    count = moments.last - moments.first + 1
    if count <= MAX_POINTS:
        return np.arange(moments.first, moments.last + 1)
    events = side_frame(trace, "snapshot_events").slice(moments.first, count)
    buckets = MAX_POINTS // _POINTS_PER_BUCKET
    time = events["time_ns"].to_numpy()
    span = max(int(time[-1] - time[0]), 1)
    bucket = np.minimum((time - time[0]) * (buckets / span), buckets - 1).astype(np.int64)
    position = pl.col("place")
    extremes = (
        pl.DataFrame(
            {
                "bucket": bucket,
                "place": np.arange(count),
                "allocated": events["allocated_bytes"],
                "reserved": events["reserved_bytes"],
            }
        )
        .group_by("bucket")
        .agg(
            position.first().alias("first"),
            position.last().alias("last"),
            position.get(pl.col("allocated").arg_max()).alias("most"),
            position.get(pl.col("allocated").arg_min()).alias("least"),
            position.get(pl.col("reserved").arg_max()).alias("most_reserved"),
        )
        .drop("bucket")
    )
    positions = distinct_values(
        np.concatenate([extremes[name].to_numpy() for name in extremes.columns])
    )
    rows: Int64 = moments.first + positions
    return rows
