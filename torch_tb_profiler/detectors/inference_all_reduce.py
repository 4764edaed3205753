"""All-reduces between the ranks that share a model take much of the inference."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.intervals import intersect, union
from torch_tb_profiler.analysis.recording.capabilities import has_operators
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import exposed_time, longest_stretch
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.sources import filter_clause
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge import communication, kernels
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US, microseconds
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "inference_all_reduce"
MAX_ROWS = 10
CUSTOM_RULES = ("custom-all-reduce", "symmetric-memory", "rccl-msccl")
"""Rules of ``knowledge/kernels.toml`` for kernels that write to the memory of other ranks."""

EVIDENCE = TableSpec(
    CODE,
    "All-reduces",
    "Kernels in the steps that reduce over the ranks, longest total time first.",
    (
        Column("kernel", "Kernel", "string", None, "Name of the kernel."),
        Column("calls_per_step", "Calls per step", "number", "count", "Mean over the steps."),
        Column("shortest_us", "Shortest", "number", "us", "Shortest duration.", family="call"),
        Column("median_us", "Median", "number", "us", "Median duration.", family="call"),
        Column("longest_us", "Longest", "number", "us", "Longest duration.", family="call"),
        Column("total_us", "Total time", "number", "us", "Durations in the steps, summed."),
    ),
)


def detect(context: Context) -> Finding | None:
    """Many kernels of an inference program that reduce over ranks take more than the threshold of
    the step while nothing computes.

    What other kernels would save is unknown; at stake is that time. Without recorded operators, the
    all-reduces of a library may belong to training: ``exposed_communication`` covers these.
    """
    if is_training(context.trace):
        return None
    reduces = context.work.filter(pl.col("is_communication"))
    reduces = reduces.filter(context.match_names(reduces["name_code"], _is_all_reduce))
    start = reduces["start_ns"].to_numpy()
    reducing = union(start, start + reduces["dur_ns"].to_numpy())
    time = context.within_steps(intersect(reducing, exposed_time(context.trace)))
    spent_ns = context.per_step_ns(time)
    share = context.share_pct(spent_ns)
    min_calls = entry(CODE).parameters["min_calls_per_step"] * context.step_count
    if reduces.height < min_calls or share <= entry(CODE).threshold:
        return None
    is_custom = context.match_names(reduces["name_code"], _is_custom).to_numpy()
    mostly_custom = int(reduces["dur_ns"].to_numpy() @ is_custom) * 2 > reduces["dur_ns"].sum()
    if not mostly_custom and not has_operators(context.trace):
        return None
    rows = _rows(context, reduces)
    durations_us = reduces["dur_ns"].to_numpy() / NS_PER_US
    return Finding(
        CODE,
        share,
        None,
        values={
            "calls": reduces.height / context.step_count,
            "shortest_us": float(durations_us.min()),
            "median_us": float(np.median(durations_us)),
            "longest_us": float(durations_us.max()),
        },
        evidence=build_table(EVIDENCE, rows),
        source={
            "view": "kernels",
            "table": "kernels",
            "filter": filter_clause("name", str(rows["kernel"][0])),
            "sort": "-total_us",
        },
        architecture=context.architecture_name,
        variant="custom" if mostly_custom else "default",
        time=time,
        spot=longest_stretch(context, time),
        at_stake_us=spent_ns / NS_PER_US,
    )


def _is_all_reduce(name: str) -> bool:
    return communication.collective(name) == "all_reduce" or _is_custom(name)


def _is_custom(name: str) -> bool:
    return kernels.classify(name).rule in CUSTOM_RULES


def _rows(context: Context, reduces: pl.DataFrame) -> pl.DataFrame:
    dur = pl.col("dur_ns")
    rows = (
        reduces.group_by("name_code")
        .agg(
            (pl.len() / context.step_count).alias("calls_per_step"),
            dur.min().alias("shortest_ns"),
            dur.median().cast(pl.Int64).alias("median_ns"),
            dur.max().alias("longest_ns"),
            dur.sum().alias("total_ns"),
        )
        .sort("total_ns", "name_code", descending=[True, False])
        .head(MAX_ROWS)
    )
    times = ("shortest", "median", "longest", "total")
    return rows.with_columns(
        codes.texts(context.trace, rows["name_code"]).alias("kernel"),
        *(microseconds(rows[f"{key}_ns"]).alias(f"{key}_us") for key in times),
    )
