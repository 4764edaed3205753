"""The GPU is idle while Python runs code without operators."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_time, worst_gap
from torch_tb_profiler.evidence.sources import gap_source
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "python_code"
MAX_ROWS = 10
COVERED = 0.8
"""A function is named for an interval if it covers at least this share of it."""
WAITING = re.compile(
    r"(method|function) '?(acquire|wait|select|poll|epoll_wait|sleep|recv|recv_into|recvfrom|"
    r"accept|sem_wait|sched_yield)'?( of|>)|"
    r"(^|[\\/])(threading|queue|queues|selectors|subprocess|socket|ssl|connection|synchronize)\.py"
    r"\(\d+\): (_?wait|join|get|acquire|select|_?recv\w*|_?poll|accept|__enter__)$"
)
"""Names of Python functions in which a thread waits, as a recording has them."""
EVIDENCE = TableSpec(
    CODE,
    "Python code",
    "The longest idle intervals by the innermost Python function, or user range, around them.",
    (
        Column("function", "Function", "string", None, "Name in the recording."),
        Column(
            "stretches",
            "Intervals",
            "integer",
            "count",
            "Number of intervals it covers.",
        ),
        Column("idle_us", "Idle time", "number", "us", "Length of these intervals, summed."),
    ),
)
REASONS = {"function": "No single function covers these intervals."}


def detect(context: Context) -> Finding | None:
    """No device works while Python runs no operator, in intervals of 1 ms and more, for more than
    the threshold of the step.

    The gain is that idle time; for a function that only waits (for a thread, a process, requests)
    it is unknown.
    """
    idle = idle_time(context, IdleCause.PYTHON)
    known = entry(CODE)
    if not context.has_launches or idle.share_pct <= known.threshold:
        return None
    rows = _functions(context, idle.time, int(known.parameters["max_stretches"]))
    function = rows["function"][0]
    waits = function is not None and WAITING.search(function) is not None
    return Finding(
        CODE,
        idle.share_pct,
        None if waits else idle.per_step_ns / NS_PER_US,
        values={"function": function or "several functions"},
        evidence=build_table(EVIDENCE, rows.head(MAX_ROWS), REASONS),
        source=gap_source(context, IdleCause.PYTHON),
        variant="waits" if waits else "default",
        time=idle.time,
        spot=worst_gap(context, idle.time),
        at_stake_us=idle.per_step_ns / NS_PER_US,
    )


def _functions(context: Context, time: Intervals, most: int) -> pl.DataFrame:
    """The functions around the longest intervals, longest total time first."""
    length = time.end_ns - time.start_ns
    longest = np.argsort(-length, kind="stable")[:most]
    frames = context.trace.slices.filter(
        pl.col("category").is_in((Category.MODULE, Category.PYTHON_FUNCTION, Category.ANNOTATION))
        & (pl.col("dur_ns") >= int(length[longest].min() * COVERED))
    )
    start = frames["start_ns"].to_numpy()
    end = start + frames["dur_ns"].to_numpy()
    codes = [
        _innermost(frames, start, end, int(time.start_ns[row]), int(time.end_ns[row]))
        for row in longest.tolist()
    ]
    rows = (
        pl.DataFrame({"code": pl.Series(codes, dtype=pl.Int64), "idle_ns": length[longest]})
        .group_by("code")
        .agg(pl.len().alias("stretches"), pl.col("idle_ns").sum())
        .sort("idle_ns", "code", descending=[True, False])
    )
    return rows.with_columns(
        function=context.texts(rows["code"]), idle_us=microseconds(rows["idle_ns"])
    )


def _innermost(
    frames: pl.DataFrame, start: Int64, end: Int64, first_ns: int, last_ns: int
) -> int | None:
    """Name code of the shortest frame that covers most of an interval."""
    spanned = np.minimum(end, last_ns) - np.maximum(start, first_ns)
    rows = np.flatnonzero(spanned >= (last_ns - first_ns) * COVERED)
    if not len(rows):
        return None
    return int(frames["name_code"][int(rows[(end - start)[rows].argmin()])])
