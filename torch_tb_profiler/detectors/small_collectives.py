"""Many small collectives: each costs a latency, together they move little."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals, intersect, union
from torch_tb_profiler.analysis.communication.records import SAME_SIZE_COLLECTIVES, records
from torch_tb_profiler.analysis.idle.gaps import gaps
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.evidence.collective_waits import timed_calls
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time, gain_us, longest_stretch
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.collectives import NO_GROUP
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "small_collectives"
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Small collectives",
    "Collectives of few bytes in the steps, longest total time first.",
    (
        Column("name", "Collective", "string", None, "The collective as the backend calls it."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("calls_per_step", "Calls per step", "number", "count", "Mean over the steps."),
        Column("median_bytes", "Median size", "number", "bytes", "Median size."),
        Column("median_us", "Median time", "number", "us", "Median duration."),
        Column("total_us", "Total time", "number", "us", "Durations in the steps, summed."),
        Column("total_bytes", "Total bytes", "integer", "bytes", "Sizes, summed."),
    ),
)
_KIND = ("name", "group")


def detect(context: Context) -> Finding | None:
    """A training step runs more small collectives of one kind and group than the threshold, and
    they take enough of it while nothing computes.

    The gain is that time and the pauses between the calls, less the time of all their bytes at the
    best rate of such calls. Layers in inference depend on each other: their collectives cannot be
    merged.
    """
    if records(context.trace).frame.is_empty() or not is_training(context.trace):
        return None
    known, calls = entry(CODE), _small_calls(context)
    rows = _rows(context, calls)
    many = rows.filter(pl.col("calls_per_step") > known.threshold)
    if many.is_empty():
        return None
    first = many.row(0, named=True)
    chosen = calls.filter(pl.col("name") == first["name"]).filter(
        pl.col("group").eq_missing(pl.lit(first["group"], pl.String))
    )
    running = union(chosen["from_ns"].to_numpy(), chosen["end_ns"].to_numpy())
    time = context.within_steps(intersect(running, exposed_time(context.trace)))
    spent_ns = context.per_step_ns(time)
    if context.share_pct(spent_ns) <= known.parameters["min_share_pct"]:
        return None
    merged_ns = context.per_step(first["total_bytes"] / first["rate"])
    return Finding(
        CODE,
        first["calls_per_step"],
        _gain_us(context, chosen, time, merged_ns),
        values={
            "name": first["name"],
            "median_size": size_text(first["median_bytes"]),
            "median_us": first["median_us"],
            "share": context.share_pct(spent_ns),
        },
        evidence=build_table(EVIDENCE, rows.head(MAX_ROWS), {"group": NO_GROUP}),
        source={"view": "distributed", "table": "collectives", "sort": "-calls"},
        architecture=context.architecture_name,
        time=time,
        spot=longest_stretch(context, time),
        at_stake_us=spent_ns / NS_PER_US,
    )


def _gain_us(
    context: Context, calls: pl.DataFrame, time: Intervals, merged_ns: float
) -> float | None:
    """What a step gains if calls that take an exposed time are merged; None if nothing, or if it is
    unknown what waits for them.

    Their launches go as well: the pauses between them, and what limits a step is what the host does
    besides.
    """
    work = context.work.filter(pl.col("is_communication"))
    if work.is_empty():
        gain_ns = (gain_us(context, time) or 0.0) * NS_PER_US
    elif work["launch"].null_count() == work.height:
        return None
    else:
        idle = gaps(context.trace)
        between = np.isin(idle.start_ns, calls["end_ns"].to_numpy()) & np.isin(
            idle.end_ns, calls["from_ns"].to_numpy()
        )
        pauses = context.within_steps(Intervals(idle.start_ns[between], idle.end_ns[between]))
        host_ns = context.per_step_ns(host_activity(context.trace)) - _launching_ns(context, calls)
        gain_ns = min(
            context.per_step_ns(time) + context.per_step_ns(pauses), context.step_ns - host_ns
        )
    return (gain_ns - merged_ns) / NS_PER_US if gain_ns > merged_ns else None


def _launching_ns(context: Context, calls: pl.DataFrame) -> float:
    """About what the host needs for the calls of a step: the usual time from one to the next."""
    apart = np.diff(np.sort(calls["start_ns"].to_numpy()))
    return context.per_step(float(np.median(apart)) * calls.height) if len(apart) else 0.0


def _small_calls(context: Context) -> pl.DataFrame:
    """The small calls that start in the steps, with ``rate``: the highest bytes per ns of such
    calls in the recording."""
    small = pl.col("moved") <= entry(CODE).parameters["small_bytes"]
    rate = (pl.col("moved") / pl.col("dur_ns")).filter(pl.col("dur_ns") > 0)
    calls = (
        timed_calls(context.trace)
        .filter(pl.col("collective").is_in(SAME_SIZE_COLLECTIVES))
        .with_columns(rate=rate.max().over(*_KIND))
        .filter(small)
    )
    return calls.filter(pl.Series(context.inside(calls["from_ns"].to_numpy())))


def _rows(context: Context, calls: pl.DataFrame) -> pl.DataFrame:
    rows = (
        calls.group_by(*_KIND)
        .agg(
            (pl.len() / max(context.step_count, 1)).alias("calls_per_step"),
            pl.col("moved").median().alias("median_bytes"),
            pl.col("dur_ns").median().cast(pl.Int64).alias("median_ns"),
            pl.col("dur_ns").sum().alias("total_ns"),
            pl.col("moved").sum().alias("total_bytes"),
            pl.col("rate").first(),
        )
        .sort("total_ns", "name", descending=[True, False])
    )
    return rows.with_columns(
        median_us=microseconds(rows["median_ns"]), total_us=microseconds(rows["total_ns"])
    )
