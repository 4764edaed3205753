"""Who arrives last at collectives, and which calls have no match."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.kernel_names import short_names
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.distributed.collectives import (
    NO_GROUP,
    NO_SIZE,
    UNTIMED,
    worker_names,
)
from torch_tb_profiler.views.distributed.columns import STRAGGLERS, UNMATCHED
from torch_tb_profiler.views.name_columns import DEMANGLED, SHORT, with_other_names
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

NOT_COMPARED = (
    "No collective could be matched with another worker's; sends and receives are not compared."
)

_REASONS = {
    "step": "It was called outside every step.",
    "group": NO_GROUP,
    "sequence": "The recording numbers no collectives.",
    "input_bytes": NO_SIZE,
    "duration_us": UNTIMED,
}


def stragglers_table(matching: Matching) -> Table:
    """The ``stragglers`` table, worst first.

    Clocks of machines differ, so arrival is not compared directly: a collective ends for all
    together, and who ran it for the shortest time arrived last. Sends and receives say nothing of
    that: who waits in them and for how long is the schedule's (of a pipeline) as well.
    """
    rows = arrivals(matching)
    last = pl.col("is_last")
    counted = rows.group_by("worker").agg(
        pl.len().cast(pl.Int64).alias("collectives"),
        last.sum().cast(pl.Int64).alias("arrived_last"),
        (last.mean() * 100).alias("arrived_last_pct"),
        pl.col("delay_ns", "others_ns").filter(last).sum(),
        pl.col("wait_ns").sum(),
    )
    counted = counted.with_columns(
        delay_us=microseconds(counted["delay_ns"]),
        others_wait_us=microseconds(counted["others_ns"]),
        wait_us=microseconds(counted["wait_ns"]),
    )
    workers = pl.DataFrame({"worker": range(len(matching.workers))}, schema={"worker": pl.Int64})
    measures = ("arrived_last_pct", "delay_us", "others_wait_us", "wait_us")
    frame = (
        workers.join(counted, on="worker", how="left", maintain_order="left")
        .with_columns(
            pl.col("collectives", "arrived_last").fill_null(0), worker=worker_names(matching)
        )
        .select(list(STRAGGLERS.polars_schema()))
        .sort("delay_us", "arrived_last", descending=True, nulls_last=True, maintain_order=True)
    )
    return Table(STRAGGLERS, frame, needed(frame, dict.fromkeys(measures, NOT_COMPARED)))


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
        matching.ranges.filter(pl.col("transfer_ns").is_not_null())
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


def unmatched_table(matching: Matching, traces: Mapping[str, Trace]) -> Table:
    """The ``unmatched`` table, in order of worker and time."""
    times = matching.ranges.group_by("worker", "record").agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("duration_ns")
    )
    began = dict(enumerate(traces[worker].meta.start_ns for worker in matching.workers))
    since = pl.col("start_ns") - pl.col("worker").replace_strict(began, return_dtype=pl.Int64)
    frame = (
        matching.calls.filter(pl.col("match").is_null())
        .join(times, on=["worker", "record"], how="left")
        .sort("worker", "record")
        .with_columns(
            worker=worker_names(matching),
            step=pl.col("step_name"),
            since_ns=since,
            reason=pl.col("unmatched_reason"),
        )
    )
    frame = frame.with_columns(
        start_us=microseconds(frame["since_ns"]),
        duration_us=microseconds(frame["duration_ns"]),
        **dict.fromkeys((SHORT, DEMANGLED), pl.lit(None, pl.String)),
    ).select(list(UNMATCHED.polars_schema()))
    table = Table(UNMATCHED, frame, needed(frame, _REASONS))
    return with_other_names(table, short_names(set(frame["name"].drop_nulls())))
