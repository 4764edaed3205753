"""What each rank did while others waited for it: before the collectives that it entered last.

The time before such a collective is that since the rank's last event, a collective it waited for
or started (:mod:`torch_tb_profiler.analysis.ranks.segments`). The wait of the others is divided by
what the rank itself did in that time. Sends and receives are left out: who waits in them is the
schedule's as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.arrivals import arrivals
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.ranks.segments import SEGMENTS, RankEvent, segments
from torch_tb_profiler.analysis.ranks.selected_steps import facts_of_ranks
from torch_tb_profiler.trace.model import Trace

ACTIVITIES = {
    "computation_ns": "computing",
    "host_ns": "launching",
    "input_ns": "loading",
    "pause_ns": "paused",
    "device_ns": "device idle",
}
"""Columns of the segments → what the rank did, in words."""

LATE_ARRIVALS = pl.Schema(
    {
        "worker": pl.Int32,
        "others_wait_ns": pl.Float64,  # all others, in all collectives that the rank entered last
        **dict.fromkeys(ACTIVITIES, pl.Float64),  # the same by what the rank did; may be less
    }
)
"""One row per rank that entered a collective last."""


def late_arrivals(traces: Mapping[str, Trace], matching: Matching) -> pl.DataFrame:
    """:data:`LATE_ARRIVALS` of ranks in the order of ``matching.workers``."""
    last = arrivals(matching).filter("is_last").select("worker", "record", "others_ns")
    events = facts_of_ranks(traces, segments, SEGMENTS).filter(pl.col("event") == RankEvent.CALL)
    own = events.select(
        pl.col("worker").cast(pl.Int64), pl.col("record").cast(pl.Int64), *ACTIVITIES
    ).unique(["worker", "record"], keep="first")
    joined = last.join(own, on=["worker", "record"], how="left")
    whole = pl.sum_horizontal(pl.col(key).cast(pl.Float64) for key in ACTIVITIES)
    shares = [
        pl.when(whole > 0).then(pl.col(key) / whole * pl.col("others_ns")).fill_null(0).alias(key)
        for key in ACTIVITIES
    ]
    by_rank = (
        joined.with_columns(shares)
        .group_by("worker")
        .agg(pl.col("others_ns").sum().alias("others_wait_ns"), pl.col(*ACTIVITIES).sum())
        .sort("worker")
    )
    return by_rank.select(pl.col(key).cast(kind) for key, kind in LATE_ARRIVALS.items())
