"""The GPU waits for the host, and most of its memory is free: a larger batch would fit."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.idle.causes import IdleCause
from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import idle_time, worst_gap
from torch_tb_profiler.evidence.memory_peaks import COLUMNS, REASONS, memory_peaks
from torch_tb_profiler.evidence.program import is_training
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import TableSpec

CODE = "spare_memory"
EVIDENCE = TableSpec(CODE, "Peaks", "One row per GPU, the emptiest first.", COLUMNS)


def detect(context: Context) -> Finding | None:
    """The fullest GPU never uses more than the threshold of its memory, and operators and launches
    of the host leave devices idle for a large part of the step.

    The effect of a larger batch on the step and on the convergence is unknown, so no gain is
    estimated. If the program waits for data or other ranks, it would not help.
    """
    peaks = memory_peaks(context.trace)
    if peaks.is_empty():
        return None
    known, fullest = entry(CODE), peaks["used_pct"][0]
    if fullest >= known.threshold:
        return None
    idle = idle_time(context, IdleCause.HOST)
    loading = idle_time(context, IdleCause.DATA_LOADING)
    if idle.share_pct <= known.parameters["min_host_pct"] or loading.share_pct > idle.share_pct:
        return None
    return Finding(
        CODE,
        fullest,
        None,
        variant="default" if is_training(context.trace) else "inference",
        values={
            "gpus": gpu_list(sorted(peaks["device"].to_list())),
            "capacity_gib": peaks["memory_bytes"][0] / 1024**3,
            "idle": idle.share_pct,
        },
        evidence=build_table(EVIDENCE, peaks.sort(pl.col("used_pct")), REASONS),
        source={"view": "memory", "table": "memory_peaks", "sort": "-peak_reserved_bytes"},
        architecture=context.architecture_name,
        spot=worst_gap(context, idle.time),
    )
