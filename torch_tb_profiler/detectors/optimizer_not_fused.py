"""The optimizer runs a separate kernel per parameter and operation."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.algebra.intervals import (
    Intervals,
    intersect,
    subtract,
    total_within,
    union,
    union_all,
)
from torch_tb_profiler.analysis.idle.gaps import busy as device_busy
from torch_tb_profiler.analysis.idle.host_threads import host_activity
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.kernel_groups import optimizer_kernels, optimizer_steps
from torch_tb_profiler.evidence.kernel_time import estimate_gain, kernel_intervals
from torch_tb_profiler.evidence.sources import filter_clause
from torch_tb_profiler.evidence.stream_runs import FUSABLE
from torch_tb_profiler.evidence.tables import (
    CALLS,
    NO_OPERATOR,
    OPERATOR,
    TOTAL_US,
    build_table,
    sum_calls,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "optimizer_not_fused"
EVIDENCE = TableSpec(
    CODE,
    "Kernels of the optimizer",
    "One row per kernel and operator, most frequent first.",
    (Column("name", "Kernel", "string", None, "Name of the kernel."), OPERATOR, CALLS, TOTAL_US),
)
MAX_ROWS = 10
LATE_SHARE = 0.2
"""An optimizer step launches its kernels one by one if the device is idle for this share of it."""


def detect(context: Context) -> Finding | None:
    """``Optimizer.step`` launches more single-tensor kernels per step than the threshold.

    The gain is the idle time between them, from the first to the last kernel of each optimizer
    step, which one fused kernel does not have, and the assumed part of their own time, as a fused
    kernel reads and writes each tensor once: where they are launched one by one all of it, as the
    host is done earlier as well; where they queue as far as the step waits for them.
    """
    kernels = optimizer_kernels(context)
    single = kernels.filter(
        context.match_kernel_kinds(kernels["name_code"], lambda kind: kind.kind in FUSABLE)
    )
    per_step = context.per_step(float(single.height))
    known = entry(CODE)
    if per_step <= known.threshold:
        return None
    spans = _spans(single)
    gaps = _gaps(context, spans)
    late = _launched_late(spans, gaps)
    queued = single.filter(~pl.col("optimizer").is_in(late["optimizer"].implode()))
    saved_share = known.parameters["assumed_saved_share"]
    kernel_gain = estimate_gain(context, CODE, queued, queued["dur_ns"].to_numpy() * saved_share)
    steps = optimizer_steps(context)
    gain_us = _gain_ns(context, single, gaps, late, steps) / NS_PER_US
    gain_us += kernel_gain.gain_us or 0.0
    groups = _groups(context, single)
    step_names = context.texts(steps["name_code"])
    time = context.within_steps(union_all(gaps, kernel_intervals(context, single)))
    about_us = context.per_step_ns(time) / NS_PER_US
    return Finding(
        CODE,
        per_step,
        gain_us if gain_us > 0 else None,
        values={
            "optimizer": step_names[0],
            "no_gain_yet": "" if gain_us > 0 else kernel_gain.no_gain_yet,
        },
        evidence=build_table(EVIDENCE, groups.head(MAX_ROWS), {"operator": NO_OPERATOR}),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": _by_main_operator(context, groups),
            "sort": "-calls",
        },
        architecture=context.architecture_name,
        time=time,
        spot=_longest_step(context, spans),
        at_stake_us=about_us if gain_us > 0 else kernel_gain.at_stake_us,
    )


def _groups(context: Context, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels by name and operator (or range, ``owner_code``), most frequent first."""
    name_codes = indices(context.trace.slices["name_code"])
    groups = sum_calls(
        kernels.with_columns(owner_code=pl.Series(gather(name_codes, indices(kernels["owner"])))),
        "name_code",
        "owner_code",
    ).sort("calls", "name_code", "owner_code", descending=[True, False, False])
    return groups.with_columns(
        name=context.texts(groups["name_code"]), operator=context.texts(groups["owner_code"])
    )


def _by_main_operator(context: Context, groups: pl.DataFrame) -> str:
    """The filter for the operator that launched most of the kernels; a filter cannot name several,
    as all of its clauses must hold."""
    calls = groups.group_by("owner_code").agg(pl.col("calls").sum())
    calls = calls.sort("calls", "owner_code", descending=[True, False])
    name = context.trace.text(calls["owner_code"][0])
    return "operator=-" if name is None else filter_clause("operator", name)


def _spans(kernels: pl.DataFrame) -> pl.DataFrame:
    """The interval from the first to the last kernel of each optimizer step."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    return kernels.group_by("optimizer", maintain_order=True).agg(
        pl.col("start_ns").min(), end.max().alias("end_ns")
    )


def _gaps(context: Context, spans: pl.DataFrame) -> Intervals:
    """The time between the first and the last kernel of an optimizer step without device work."""
    covered = union(spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy())
    return subtract(covered, device_busy(context.trace))


def _launched_late(spans: pl.DataFrame, gaps: Intervals) -> pl.DataFrame:
    """The intervals of the optimizer steps in which the device waits for many of the launches."""
    start, end = spans["start_ns"].to_numpy(), spans["end_ns"].to_numpy()
    return spans.filter(pl.Series(total_within(gaps, start, end) >= LATE_SHARE * (end - start)))


def _gain_ns(
    context: Context,
    kernels: pl.DataFrame,
    gaps: Intervals,
    late: pl.DataFrame,
    ranges: pl.DataFrame,
) -> float:
    """What a step gains without the gaps, and without a part of the time of kernels launched late
    that nothing overlaps; at most what its host spends elsewhere is left."""
    is_other = ~np.isin(context.work["row"].to_numpy(), kernels["row"].to_numpy())
    start = context.work["start_ns"].to_numpy()[is_other]
    overlapped = union(start, start + context.work["dur_ns"].to_numpy()[is_other])
    in_late = intersect(
        kernel_intervals(context, kernels),
        union(late["start_ns"].to_numpy(), late["end_ns"].to_numpy()),
    )
    alone_ns = context.per_step_ns(subtract(in_late, overlapped))
    saved_ns = alone_ns * entry(CODE).parameters["assumed_saved_share"]
    begin = ranges["start_ns"].to_numpy()
    optimizing = union(begin, begin + ranges["dur_ns"].to_numpy())
    elsewhere = context.per_step_ns(subtract(host_activity(context.trace), optimizing))
    return max(min(context.per_step_ns(gaps) + saved_ns, context.step_ns - elsewhere), 0.0)


def _longest_step(context: Context, spans: pl.DataFrame) -> Spot:
    row = int((spans["end_ns"] - spans["start_ns"]).to_numpy().argmax())
    optimizer, start_ns, end_ns = spans.row(row)
    return context.spot(start_ns, end_ns, optimizer)
