"""A device nearly ran out of memory (rule 7 of peer-behaviour §3.3)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context, gpu_list
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.knowledge.devices import GPU_TYPES

CODE = "memory_near_limit"


def detect(context: Context) -> Advice | None:
    """Peak allocated memory of a GPU exceeds the threshold of its capacity; all such are named.

    Host memory has no limit in a trace and is not looked at.
    """
    peaks = (
        context.trace.memory.filter(pl.col("device_type").is_in(list(GPU_TYPES)))
        .group_by("device")
        .agg(pl.col("total_allocated_bytes", "total_reserved_bytes").max())
        .join(context.trace.devices.select("device", "name", "memory_bytes"), on="device")
        .filter(pl.col("memory_bytes") > 0)
        .with_columns(used_pct=pl.col("total_allocated_bytes") / pl.col("memory_bytes") * 100)
        .filter(pl.col("used_pct") > entry(CODE).threshold)
        .sort("used_pct", descending=True)
    )
    if peaks.is_empty():
        return None
    worst = peaks.row(0, named=True)
    return Advice(
        CODE,
        worst["used_pct"],
        None,
        values={
            "gpus": gpu_list(sorted(peaks["device"].to_list())),
            "capacity_gb": worst["memory_bytes"] / 1024**3,
        },
        rows=tuple(peaks.to_dicts()),
        source={"view": "memory", "table": "memory_peaks"},
        architecture=context.architecture_name,
    )
