"""Which worker arrived last at each collective, and how long the others waited for it."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.knowledge import communication


def arrivals(matching: Matching) -> pl.DataFrame:
    """One row per worker and matched collective with other timed workers.

    Columns: ``worker`` and ``match`` (numbers), ``record``, ``start_ns`` and ``duration_ns`` on the
    worker's clock, ``wait_ns``, ``is_last``, ``delay_ns`` (how much sooner it could have begun had
    its last worker arrived with the second to last), ``others_ns`` (what all of it waited).
    """
    duration = pl.col("duration_ns")
    peer_to_peer = pl.col("collective").is_in(communication.peer_to_peer_names())
    between_two = matching.calls.filter(peer_to_peer).select("worker", "record")
    times = (
        matching.ranges.filter(pl.col("transfer_ns").is_not_null() & pl.col("match").is_not_null())
        .join(between_two, on=["worker", "record"], how="anti")
        .group_by("worker", "record", "match")
        .agg(
            pl.col("start_ns").min(),
            (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("duration_ns"),
        )
        .filter(pl.col("worker").n_unique().over("match") > 1)
    )
    shortest = duration.min().over("match")
    second = duration.sort().get(1).over("match")
    return times.with_columns(
        wait_ns=duration - shortest,
        is_last=(duration == shortest) & (second > shortest),
        delay_ns=second - shortest,
        others_ns=(duration - shortest).sum().over("match"),
    )
