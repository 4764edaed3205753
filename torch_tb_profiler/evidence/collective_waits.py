"""Waiting of collectives for other ranks: from one recording alone, and across a run.

In one recording, a call that lasts longer than a call of its kind and group that moved as much or
more waited for at least the difference, at its start
(``docs/advice.md#waiting-ranks``).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.communication.matching import Matching
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposed_waits import exposed_waits
from torch_tb_profiler.evidence.exposure import exposed_time
from torch_tb_profiler.evidence.finding import Spot
from torch_tb_profiler.evidence.worker_means import means_per_step
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds

WAITING = "waiting_ranks"
"""The finding whose parameters set the minimum number of calls."""


@per_split
def timed_calls(trace: Trace) -> pl.DataFrame:
    """The calls with known times: the columns of ``RECORDS``, ``from_ns`` and ``end_ns`` (the first
    and last moment in which the call ran), ``dur_ns``, and ``least_ns``, the shortest duration of a
    call of its kind and group that moved as much or more; null if there are too few."""
    known = records(trace)
    times = (
        pl.DataFrame({"record": known.record, "from_ns": known.start_ns, "end_ns": known.end_ns})
        .group_by("record")
        .agg(pl.col("from_ns").min(), pl.col("end_ns").max())
    )
    calls = known.frame.join(times, on="record", how="inner").sort("record")
    calls = calls.with_columns(
        dur_ns=pl.col("end_ns") - pl.col("from_ns"),
        moved=pl.max_horizontal("input_bytes", "output_bytes"),
    )
    return _with_least(trace, calls)


def _with_least(trace: Trace, calls: pl.DataFrame) -> pl.DataFrame:
    kind = ("name", "collective", "group_key")
    pairs = pl.col("collective").is_in(communication.peer_to_peer_names())
    comparable = (
        pl.col("moved").is_not_null()
        & ~pairs.fill_null(value=True)
        & (pl.col("group_key").is_not_null() | pl.lit(_has_one_group(trace)))
    )
    enough = pl.len().over(*kind) >= entry(WAITING).parameters["min_calls"]
    # Calls of one size share the shortest duration, whatever their order.
    by_size = (
        calls.filter(comparable)
        .filter(enough)
        .group_by(*kind, "moved")
        .agg(pl.col("dur_ns").min())
        .sort("moved", descending=True)
        .with_columns(least_ns=pl.col("dur_ns").cum_min().over(*kind))
        .drop("dur_ns")
    )
    return calls.join(
        by_size, on=[*kind, "moved"], how="left", nulls_equal=True, maintain_order="left"
    )


def _has_one_group(trace: Trace) -> bool:
    """Whether calls without a group all belong to one group, as far as the recording declares."""
    job = trace.meta.info.job
    if job is None:
        return True
    return max(job.group_count or 0, len(job.groups or ())) < 2


@per_trace
def waiting_time(trace: Trace) -> Intervals:
    """The exposed communication that calls would not have if none had waited for other ranks."""
    calls = timed_calls(trace)
    wait = (calls["dur_ns"] - calls["least_ns"]).fill_null(0)
    columns = calls.select("record", "from_ns", "end_ns").with_columns(wait)
    return exposed_waits(trace, *(columns[key].to_numpy() for key in columns.columns))


class MeanWaits(Struct, frozen=True, eq=False):
    """Means over the workers, per step in ns.

    Attributes:
        wait_ns: Exposed communication that they would not have without their waits in matched
            collectives for a later worker.
        exposed_ns: Time they communicated and computed nothing.
        step_ns: Length of a step.
        by_worker: What ``wait_ns`` is the mean of, of the workers with matched calls.
    """

    wait_ns: float
    exposed_ns: float
    step_ns: float
    by_worker: Mapping[str, float]


def mean_waits(
    rows: pl.DataFrame, matching: Matching, contexts: Mapping[str, Context]
) -> MeanWaits:
    """The mean waits, from the arrivals of all workers."""
    parts = rows.partition_by("worker", as_dict=True)
    ordered = [contexts[worker] for worker in matching.workers]
    exposed = [exposed_time(context.trace) for context in ordered]
    exposed_ns = sum(means_per_step(ordered, exposed).tolist())
    waiting = [number for number in range(len(ordered)) if (number,) in parts]
    waits = [exposed_arrivals(ordered[row].trace, parts[row,], "wait_ns") for row in waiting]
    means = means_per_step([ordered[number] for number in waiting], waits)
    names = [matching.workers[number] for number in waiting]
    by_worker = dict(zip(names, means.tolist(), strict=True))
    count = len(matching.workers)
    step_ns = sum(context.step_ns for context in contexts.values())
    wait_ns = sum(by_worker.values())
    return MeanWaits(wait_ns / count, exposed_ns / count, step_ns / count, by_worker)


def exposed_arrivals(trace: Trace, arrived: pl.DataFrame, delay: str) -> Intervals:
    """The exposed communication of a worker that it would not have without a delay of its matched
    calls (a column of their arrivals: ``wait_ns`` or ``delay_ns``)."""
    start = arrived["start_ns"].to_numpy()
    end = start + arrived["duration_ns"].to_numpy()
    return exposed_waits(trace, arrived["record"].to_numpy(), start, end, arrived[delay].to_numpy())


def waiting_calls(arrived: pl.DataFrame, matching: Matching) -> pl.DataFrame:
    """Sum the matched calls by name, group and size for the evidence, longest wait first."""
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
    """The longest wait of a worker, with the kernel that waited; None without arrivals."""
    if waits.is_empty():
        return None
    row = waits.sort("wait_ns", "worker", "start_ns", descending=[True, False, False]).row(
        0, named=True
    )
    worker = matching.workers[row["worker"]]
    context = contexts[worker]
    slice_id = int(records(context.trace).frame["work"][row["record"]])
    return context.spot(row["start_ns"], row["start_ns"] + row["wait_ns"], slice_id, worker)


def latest_arrival(
    arrived: pl.DataFrame, straggler: int, matching: Matching, contexts: Mapping[str, Context]
) -> Spot | None:
    """What a straggler did while the others waited longest for it: on its own timeline from the
    first arrival to the end of the collective, with its own kernel; None if it was never last."""
    late = arrived.filter((pl.col("worker") == straggler) & pl.col("is_last"))
    waits = arrived.group_by("match").agg(pl.col("wait_ns").max().alias("longest_ns"))
    order = ["longest_ns", "start_ns"]
    rows = late.join(waits, on="match").sort(order, descending=[True, False])
    if rows.is_empty():
        return None
    row = rows.row(0, named=True)
    worker, start_ns = matching.workers[straggler], row["start_ns"]
    context = contexts[worker]
    slice_id = int(records(context.trace).frame["work"][row["record"]])
    first_ns = max(start_ns - row["longest_ns"], context.trace.meta.start_ns)
    return context.spot(first_ns, start_ns + row["duration_ns"], slice_id, worker)
