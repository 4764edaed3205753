"""The optimizer runs a kernel per parameter and operation."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import (
    CALLS,
    NO_OPERATOR,
    OPERATOR,
    TOTAL_US,
    calls_and_time,
    filled,
)
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.advice.sources import clause
from torch_tb_profiler.analysis.containment import innermost_around_start
from torch_tb_profiler.analysis.forests import covered_lengths, gather, indices
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "optimizer_not_fused"
EVIDENCE = TableSpec(
    CODE,
    "Kernels of the optimizer",
    "One row per kernel and operator, those called most often first.",
    (Column("name", "Kernel", "string", None, "Name of the kernel."), OPERATOR, CALLS, TOTAL_US),
)
ALREADY_FUSED = frozenset({"optimizer", "foreach"})
MAX_ROWS = 10


def detect(context: Context) -> Finding | None:
    """Inside ``Optimizer.step`` more single-tensor kernels per step run than the threshold.

    The gain is the time between them, from the first to the last of each optimizer step, in
    which none ran: one fused kernel has no such gaps.
    """
    steps = _optimizer_steps(context)
    if steps.is_empty():
        return None
    kernels = context.kernels.filter(pl.col("launch").is_not_null())
    inside = innermost_around_start(
        context.trace, steps["id"].to_numpy(), indices(kernels["launch"])
    )
    kernels = kernels.with_columns(optimizer=pl.Series(inside)).filter(pl.col("optimizer") >= 0)
    single = kernels.filter(
        context.kernels_that(kernels["name_code"], lambda kind: kind.kind not in ALREADY_FUSED)
    )
    per_step = context.per_step(float(single.height))
    if per_step <= entry(CODE).threshold:
        return None
    groups = _groups(context, single)
    step_names = context.texts(steps["name_code"])
    return Finding(
        CODE,
        per_step,
        context.per_step(_gaps_ns(single)) / NS_PER_US,
        values={"optimizer": step_names[0]},
        evidence=filled(EVIDENCE, groups.head(MAX_ROWS), {"operator": NO_OPERATOR}),
        source={
            "view": "kernels",
            "table": "kernels",
            "group_by": "name+operator+launch",
            "filter": _by_main_operator(context, groups),
            "sort": "-calls",
        },
        architecture=context.architecture_name,
    )


def _groups(context: Context, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels by name and operator (or range, ``owner_code``), those called most first."""
    name_codes = indices(context.trace.slices["name_code"])
    groups = calls_and_time(
        kernels.with_columns(owner_code=pl.Series(gather(name_codes, indices(kernels["owner"])))),
        "name_code",
        "owner_code",
    ).sort("calls", "name_code", "owner_code", descending=[True, False, False])
    return groups.with_columns(
        name=context.texts(groups["name_code"]), operator=context.texts(groups["owner_code"])
    )


def _by_main_operator(context: Context, groups: pl.DataFrame) -> str:
    """The filter for what launched most of the kernels: the clauses of a filter must all hold, so
    it cannot name several."""
    by_operator = groups.group_by("owner_code").agg(pl.col("calls").sum())
    by_operator = by_operator.sort("calls", "owner_code", descending=[True, False])
    name = context.trace.text(by_operator["owner_code"][0])
    return "operator=-" if name is None else clause("operator", name)


def _optimizer_steps(context: Context) -> pl.DataFrame:
    ranges = context.ranges_of(Category.OPTIMIZER)
    names = context.texts(ranges["name_code"])
    return ranges.filter(names.str.starts_with("Optimizer.step"))


def _gaps_ns(kernels: pl.DataFrame) -> float:
    """Σ over optimizer steps and devices of the span of their kernels less the time any ran."""
    ends = kernels["start_ns"] + kernels["dur_ns"]
    place = kernels.with_columns(
        end_ns=ends, place=pl.struct("optimizer", "device").rank("dense").cast(pl.Int64) - 1
    )
    spans = place.group_by("place").agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("span")
    )
    busy = covered_lengths(
        place["place"].to_numpy(),
        place["start_ns"].to_numpy(),
        place["end_ns"].to_numpy(),
        spans.height,
    )
    return float(spans["span"].sum()) - float(busy.sum())
