"""How much of collectives was waiting for other ranks, told from one recording alone.

A call that lasts longer than one of its kind and group that moved as much or more was not busy
moving: at least the difference it waited, and it waited first (``docs/advice.md#waiting-ranks``).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, union
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.evidence.exposure import exposed_time
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.derived import per_split, per_trace
from torch_tb_profiler.trace.model import Trace

WAITING = "waiting_ranks"
"""The finding whose parameters say how many calls tell something."""


@per_split
def timed_calls(trace: Trace) -> pl.DataFrame:
    """The calls that have a time: the columns of ``RECORDS`` with ``from_ns`` and ``end_ns`` (first
    and last moment in which it ran), ``dur_ns`` and ``least_ns``, the shortest duration of a call
    of its kind and group that moved as much or more; null where that cannot be told."""
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
    # Calls of one size share the shortest of all of them, whatever their order.
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
    """Whether calls that name no group can be of one only, as far as the recording declares."""
    job = trace.meta.info.job
    if job is None:
        return True
    return max(job.group_count or 0, len(job.groups or ())) < 2


@per_trace
def waiting_time(trace: Trace) -> Intervals:
    """When calls waited, at least, while nothing computed."""
    calls = timed_calls(trace).filter(pl.col("least_ns").is_not_null())
    start = calls["from_ns"].to_numpy()
    wait = (calls["dur_ns"] - calls["least_ns"]).to_numpy()
    return intersect(union(start, start + np.maximum(wait, 0)), exposed_time(trace))
