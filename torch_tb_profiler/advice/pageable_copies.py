"""Copies between device and pageable host memory: the host waits in the call."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.copy_evidence import copy_evidence, declared
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.sources import heaviest_operator_rows
from torch_tb_profiler.analysis.forests import covered_lengths, indices
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "pageable_copies"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """The calls that launched such copies keep the host longer than the threshold of the step.

    The gain is that time: a copy from pinned memory returns at once.
    """
    copies = context.work.filter(pl.col("category") == Category.MEMCPY)
    copies = copies.filter(context.names_that(copies["name_code"], lambda name: "Pageable" in name))
    copies = copies.filter(pl.col("launch").is_not_null())
    if copies.is_empty():
        return None
    launches = copies["launch"].unique().sort()
    calls = context.trace.slices.select("start_ns", "dur_ns", "parent")[launches]
    start = calls["start_ns"].to_numpy()
    one_group = np.zeros(calls.height, np.int64)
    (blocked_ns,) = covered_lengths(one_group, start, start + calls["dur_ns"].to_numpy(), 1)
    blocked = context.per_step(float(blocked_ns))
    share = context.share_pct(blocked)
    if share <= entry(CODE).threshold:
        return None
    by_operator = heaviest_operator_rows(
        context, indices(calls["parent"]), calls["dur_ns"].to_numpy()
    )
    return Finding(
        CODE,
        share,
        blocked / NS_PER_US,
        values={"calls": copies.height},
        evidence=copy_evidence(context, copies, EVIDENCE),
        source=by_operator or {"view": "overview", "table": "steps", "sort": "-runtime_us"},
        architecture=context.architecture_name,
        variant="one" if copies.height == 1 else "default",
    )
