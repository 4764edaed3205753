"""DistributedDataParallel sends the module's buffers to all ranks before every forward pass."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import intersect, union
from torch_tb_profiler.evidence.collective_waits import timed_calls
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time, gain_us, longest_stretch
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.collectives import NO_SIZE
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "buffer_broadcasts"
FORWARD = "DistributedDataParallel.forward"
EVIDENCE = TableSpec(
    CODE,
    "Buffer broadcasts",
    "Broadcasts that start in DistributedDataParallel.forward, by size; most frequent first.",
    (
        Column("name", "Collective", "string", None, "The collective as the backend calls it."),
        Column("size_bytes", "Size", "integer", "bytes", "Bytes that are sent."),
        Column("calls", "Calls", "integer", "count", "Number of calls in the steps."),
        Column("shortest_us", "Shortest", "number", "us", "Shortest duration."),
        Column("total_us", "Total time", "number", "us", "Durations, summed."),
    ),
)
MAX_ROWS = 10


def detect(context: Context) -> Finding | None:
    """Broadcasts from the forward pass of DDP take more than the threshold of the step while
    nothing computes, without their waits for other ranks.

    The gain is that time. By how much a broadcast exceeds the shortest of its size or larger, it
    waited for a late rank; without the broadcast, the same wait would be elsewhere.
    """
    calls = _broadcasts(context)
    if calls.is_empty():
        return None
    end = calls["end_ns"].to_numpy()
    moving = union(end - calls["shortest_ns"].to_numpy(), end)
    time = context.within_steps(intersect(moving, exposed_time(context.trace)))
    spent_ns = context.per_step_ns(time)
    share = context.share_pct(spent_ns)
    if share <= entry(CODE).threshold:
        return None
    return Finding(
        CODE,
        share,
        gain_us(context, time),
        values={"calls_per_step": calls.height / context.step_count},
        evidence=build_table(EVIDENCE, _rows(calls), {"size_bytes": NO_SIZE}),
        source={
            "view": "distributed",
            "table": "collectives",
            "filter": f"name={calls['name'][0]}",
            "sort": "-calls",
        },
        architecture=context.architecture_name,
        time=time,
        spot=longest_stretch(context, time),
        at_stake_us=spent_ns / NS_PER_US,
    )


def _broadcasts(context: Context) -> pl.DataFrame:
    """The broadcasts that start in the steps and in a forward pass of DDP, with ``shortest_ns``:
    the shortest duration of a broadcast that moved as much or more."""
    calls = timed_calls(context.trace).filter(pl.col("collective") == "broadcast")
    start = calls["start_ns"].to_numpy()
    calls = calls.filter(pl.Series(_in_forward(context.trace, start) & context.inside(start)))
    order = calls.with_columns(pl.col("moved").fill_null(0)).sort(
        "moved", "dur_ns", descending=[True, False]
    )
    return order.with_columns(shortest_ns=pl.col("dur_ns").cum_min()).sort("start_ns")


def _in_forward(trace: Trace, time_ns: Int64) -> Bools:
    """Mask of the moments in a forward pass of DDP, on any thread."""
    codes = np.flatnonzero(trace.strings == FORWARD)
    ranges = trace.slices.filter(pl.col("name_code").is_in(codes.tolist()))
    start = ranges["start_ns"].to_numpy()
    forward = union(start, start + ranges["dur_ns"].to_numpy())
    row = np.searchsorted(forward.start_ns, time_ns, "right") - 1
    if not len(forward.start_ns):
        return np.zeros(len(time_ns), np.bool_)
    inside: Bools = (row >= 0) & (time_ns < forward.end_ns[row])
    return inside


def _rows(calls: pl.DataFrame) -> pl.DataFrame:
    sizes = calls.with_columns(size_bytes=pl.col("input_bytes"))
    rows = (
        sizes.group_by("name", "size_bytes")
        .agg(
            pl.len().alias("calls"),
            pl.col("dur_ns").min().alias("least_ns"),
            pl.col("dur_ns").sum().alias("total_ns"),
        )
        .sort("calls", "total_ns", descending=True)
        .head(MAX_ROWS)
    )
    return rows.with_columns(
        shortest_us=microseconds(rows["least_ns"]), total_us=microseconds(rows["total_ns"])
    )
