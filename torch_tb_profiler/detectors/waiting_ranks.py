"""Communication is slow because ranks wait for each other, not because of the amount of data."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.arrivals import arrivals
from torch_tb_profiler.analysis.steps.selected_collectives import selected_matching
from torch_tb_profiler.evidence.collective_waits import (
    WAITING,
    longest_wait,
    mean_waits,
    timed_calls,
    waiting_calls,
    waiting_time,
)
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import MOSTLY, exposure, gain_us, longest_stretch
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.collectives import NO_GROUP, NO_SIZE
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = WAITING
REASONS = {"group": NO_GROUP, "size_bytes": NO_SIZE}
MAX_ROWS = 10
EVIDENCE = TableSpec(
    CODE,
    "Waiting calls",
    "Collectives in the steps by kind and size, longest wait first.",
    (
        Column("name", "Collective", "string", None, "The collective as the backend calls it."),
        Column("group", "Group", "string", None, "Process group, with its description."),
        Column("size_bytes", "Size", "integer", "bytes", "The larger of input and output."),
        Column("calls", "Calls", "integer", "count", "Number of calls in the steps."),
        Column(
            "least_us",
            "Shortest",
            "number",
            "us",
            "Shortest duration of a call of this kind and group that moved as much or more; for "
            "runs the shortest of all workers.",
            family="call",
        ),
        Column("median_us", "Median", "number", "us", "Median duration.", family="call"),
        Column("longest_us", "Longest", "number", "us", "Longest duration.", family="call"),
        Column(
            "wait_us",
            "Waited",
            "number",
            "us",
            "Excess of the durations over the shortest, summed.",
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """Exposed waiting takes more than the threshold of the step, and is most of the exposed
    communication. The gain is that wait, which ranks that arrive together do not have."""
    time = context.within_steps(waiting_time(context.trace))
    wait_ns, exposed_ns = context.per_step_ns(time), exposure(context).exposed_ns
    share = context.share_pct(wait_ns)
    if share <= entry(CODE).threshold or wait_ns <= MOSTLY * exposed_ns:
        return None
    return Finding(
        CODE,
        share,
        gain_us(context, time),
        values={"wait_share": wait_ns / exposed_ns * 100},
        evidence=build_table(EVIDENCE, _rows(context), REASONS),
        source={"view": "distributed", "table": "collectives", "sort": "-mean_call_us"},
        architecture=context.architecture_name,
        time=time,
        spot=longest_stretch(context, time),
        at_stake_us=wait_ns / NS_PER_US,
    )


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """The mean exposed wait of the workers is above the threshold of the mean step and most of
    their exposed communication. A straggler that causes half of it supersedes this finding.

    The text names the workers that wait least and most: who waits least is the one to look at,
    unless all wait about as long, because they are late in turns.
    The gain is that mean: workers that arrive together do not wait, and their work is the same.
    """
    traces = {worker: context.trace for worker, context in contexts.items()}
    matching = selected_matching(traces, next(iter(contexts.values())).selection)
    rows = arrivals(matching)
    means = mean_waits(rows, matching, contexts)
    share = means.wait_ns / means.step_ns * 100
    if share <= entry(CODE).threshold or means.wait_ns <= MOSTLY * means.exposed_ns:
        return None
    wait_ns = means.by_worker
    by_wait = sorted(wait_ns, key=lambda worker: wait_ns[worker])
    least, most = by_wait[0], by_wait[-1]
    clearly_less = entry("straggler").parameters["max_own_wait_share"]
    architectures = {context.architecture_name for context in contexts.values()}
    return Finding(
        CODE,
        share,
        means.wait_ns / NS_PER_US,
        values={
            "workers": len(matching.workers),
            "wait_share": means.wait_ns / means.exposed_ns * 100,
            "least": least,
            "least_wait": duration_text(wait_ns[least] / NS_PER_US),
            "most": most,
            "most_wait": duration_text(wait_ns[most] / NS_PER_US),
        },
        evidence=build_table(
            EVIDENCE,
            waiting_calls(rows, matching).head(MAX_ROWS),
            REASONS,
        ),
        source={"view": "distributed", "table": "stragglers", "sort": "wait_us"},
        architecture=architectures.pop() if len(architectures) == 1 else None,
        variant="run" if wait_ns[least] <= clearly_less * means.wait_ns else "turns",
        spot=longest_wait(rows, matching, contexts),
    )


def _rows(context: Context) -> pl.DataFrame:
    calls = timed_calls(context.trace).filter(pl.col("least_ns").is_not_null())
    inside = pl.Series(context.inside(calls["from_ns"].to_numpy()))
    dur = pl.col("dur_ns")
    rows = (
        calls.filter(inside)
        .group_by("name", "group", "moved", "least_ns")
        .agg(
            pl.len().alias("calls"),
            dur.median().cast(pl.Int64).alias("median_ns"),
            dur.max().alias("longest_ns"),
            (dur - pl.col("least_ns")).sum().alias("wait_ns"),
        )
        .sort("wait_ns", "name", "moved", descending=[True, False, False])
        .head(MAX_ROWS)
        .rename({"moved": "size_bytes"})
    )
    times = ("least", "median", "longest", "wait")
    return rows.with_columns(microseconds(rows[f"{key}_ns"]).alias(f"{key}_us") for key in times)
