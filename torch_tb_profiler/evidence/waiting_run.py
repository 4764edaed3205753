"""How long the workers of a run wait for each other, and in which calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import intersect, union
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.trace.units import microseconds


@dataclass(frozen=True, slots=True)
class MeanWaits:
    """Means over the workers, per step in ns.

    Attributes:
        wait_ns: In matched collectives they waited for a later worker, and computed nothing.
        exposed_ns: They communicated and computed nothing.
        step_ns: Length of a step.
    """

    wait_ns: float
    exposed_ns: float
    step_ns: float


def mean_waits(
    rows: pl.DataFrame, matching: Matching, contexts: Mapping[str, Context]
) -> MeanWaits:
    """The means, from the arrivals of all workers."""
    parts = rows.partition_by("worker", as_dict=True)
    wait_ns = exposed_ns = 0.0
    for number, worker in enumerate(matching.workers):
        context = contexts[worker]
        exposed = exposed_time(context.trace)
        exposed_ns += context.in_steps_ns(exposed)
        part = parts.get((number,))
        if part is not None:
            start = part["start_ns"].to_numpy()
            waiting = union(start, start + part["wait_ns"].to_numpy())
            wait_ns += context.in_steps_ns(intersect(waiting, exposed))
    count = len(matching.workers)
    step_ns = sum(context.step_ns for context in contexts.values())
    return MeanWaits(wait_ns / count, exposed_ns / count, step_ns / count)


def waiting_calls(arrived: pl.DataFrame, matching: Matching) -> pl.DataFrame:
    """The matched calls by name, group and size with the times of the evidence, those that waited
    longest first."""
    calls = matching.calls.select("worker", "record", "name", "group", "size_bytes")
    dur = pl.col("duration_ns")
    rows = (
        arrived.join(calls, on=["worker", "record"])
        .group_by("name", "group", "size_bytes")
        .agg(
            pl.len().alias("calls"),
            dur.min().alias("least_ns"),
            dur.median().cast(pl.Int64).alias("median_ns"),
            dur.max().alias("longest_ns"),
            pl.col("wait_ns").sum(),
        )
        .sort("wait_ns", "name", "size_bytes", descending=[True, False, False])
    )
    times = ("least", "median", "longest", "wait")
    return rows.with_columns(microseconds(rows[f"{key}_ns"]).alias(f"{key}_us") for key in times)


def longest_wait(
    waits: pl.DataFrame, matching: Matching, contexts: Mapping[str, Context]
) -> Spot | None:
    """Where a worker waited longest, with the kernel that did; None without any arrivals."""
    if waits.is_empty():
        return None
    row = waits.sort("wait_ns", "worker", "start_ns", descending=[True, False, False]).row(
        0, named=True
    )
    worker = matching.workers[row["worker"]]
    context = contexts[worker]
    shown = int(records(context.trace).frame["work"][row["record"]])
    return context.spot(row["start_ns"], row["start_ns"] + row["wait_ns"], shown, worker)
