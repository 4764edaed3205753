"""Shared by the distributed view and the communication detectors: the stragglers table, and reasons
for null values of collectives."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.communication.arrivals import arrivals
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table, TableSpec

ALL_STEPS = "all"
"""Name of the rows that hold the mean over steps."""

NO_GROUP = "The recording does not name the process group of a call."
NO_SIZE = "The recording has no sizes for these calls, or they move no data (barriers)."
UNTIMED = "The device work of these calls was not recorded, and the host call only enqueues it."
NOT_COMPARED = "No collective matches one of another worker. Sends and receives are not compared."

WORKER = Column("worker", "Worker", "string", None, "The worker (rank) the row is about.")

STRAGGLERS = TableSpec(
    "stragglers",
    "Stragglers",
    "One row per worker: how often it arrived last at a collective, and what that cost the others.",
    (
        WORKER,
        Column(
            "collectives",
            "Collectives",
            "integer",
            "count",
            "Matched collectives of this worker. Sends and receives are left out: waiting in "
            "them also depends on the pipeline schedule.",
        ),
        Column(
            "arrived_last",
            "Arrived Last",
            "integer",
            "count",
            "Collectives this worker entered last: it ran the shortest. Ties count for no worker.",
            additive=True,
        ),
        Column("arrived_last_pct", "Share", "number", "pct", "Arrived Last over Collectives."),
        Column(
            "delay_us",
            "Delay Caused",
            "number",
            "us",
            "How much earlier those collectives could have started if this worker had arrived "
            "with the second to last; summed.",
            estimated=True,
            family="wait",
            additive=True,
        ),
        Column(
            "others_wait_us",
            "Others' Wait",
            "number",
            "us",
            "Summed time that all other workers waited in those collectives.",
            estimated=True,
            family="wait",
            additive=True,
        ),
        Column(
            "wait_us",
            "Own Wait",
            "number",
            "us",
            "Time this worker waited in all of its collectives.",
            estimated=True,
            family="wait",
            additive=True,
        ),
    ),
    sort="-delay_us,-arrived_last",
)


def stragglers_table(matching: Matching) -> Table:
    """The ``stragglers`` table, worst first.

    Clocks of machines differ, so arrival times are not compared directly: a collective ends at the
    same time on all ranks, so the rank with the shortest duration arrived last. Sends and receives
    are left out: waiting in them also depends on the pipeline schedule.
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


def worker_names(matching: Matching) -> pl.Expr:
    """The ``worker`` column as names."""
    names = dict(enumerate(matching.workers))
    return pl.col("worker").replace_strict(names, return_dtype=pl.String)
