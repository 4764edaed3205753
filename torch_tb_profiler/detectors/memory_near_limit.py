"""A GPU nearly ran out of memory (rule 7 in docs/advice.md)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.memory_peaks import COLUMNS, REASONS, memory_peaks
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import TableSpec

CODE = "memory_near_limit"
EVIDENCE = TableSpec(
    CODE,
    "Peaks near the capacity",
    "One row per GPU above the threshold, the fullest first.",
    COLUMNS,
)


def detect(context: Context) -> Finding | None:
    """The peak of allocated memory of a GPU exceeds the threshold of its capacity; all such GPUs
    are named. Host memory has no limit in a trace.
    """
    threshold = entry(CODE).threshold
    if not _may_be_near(context.trace, threshold):
        return None
    peaks = memory_peaks(context.trace).filter(pl.col("used_pct") > threshold)
    if peaks.is_empty():
        return None
    worst = peaks.row(0, named=True)
    return Finding(
        CODE,
        worst["used_pct"],
        None,
        variant="default" if is_training(context.trace) else "inference",
        values={
            "gpus": gpu_list(sorted(peaks["device"].to_list())),
            "capacity_gib": worst["memory_bytes"] / 1024**3,
        },
        evidence=build_table(EVIDENCE, peaks, REASONS),
        source={"view": "memory", "table": "memory_peaks", "sort": "-peak_reserved_bytes"},
        architecture=context.architecture_name,
        spot=_around(context, worst["peak_ns"]),
    )


def _around(context: Context, moment_ns: int) -> Spot:
    """The interval of a hundredth of the mean step on both sides of a moment."""
    margin_ns = int(context.step_ns / 100)
    first_ns = max(moment_ns - margin_ns, context.trace.meta.start_ns)
    return context.spot(first_ns, moment_ns + margin_ns)


def _may_be_near(trace: Trace, threshold_pct: float) -> bool:
    """Whether any recorded total exceeds that share of the smallest GPU: a cheap first test."""
    largest = trace.memory["total_allocated_bytes"].max()
    smallest = trace.devices.filter(pl.col("memory_bytes") > 0)["memory_bytes"].min()
    if not isinstance(largest, int) or not isinstance(smallest, int):
        return False
    return largest * 100 > smallest * threshold_pct
