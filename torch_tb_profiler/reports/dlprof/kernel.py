"""``kernel``: a row per kernel and operator that launched it."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.reports.dlprof.table import (
    STATISTICS,
    Report,
    ReportTable,
    Views,
    frame_of,
    renamed,
    with_operator_paths,
)

SOURCE = ("iterations", "iteration_kernels")

_KEYS = ("kernel", "operator_id", "operator", "direction", "tensor_core_used")
_TIMES = (("GPU Time", "gpu_time"), ("API Time", "api_time"))
_TITLES = {
    "Kernel Name": "kernel",
    "Op ID": "operator_id",
    "Op Name": "operator",
    "Direction": "direction",
    "Uses TC": "tensor_core_used",
    **{
        f"{word} {measure} (ns)": f"{stem}_{statistic}_us"
        for measure, stem in _TIMES
        for word, statistic in STATISTICS
    },
}


def kernel(views: Views) -> Report:
    """The report; most time on the device first."""
    sums = (
        _statistic(f"{stem}_us", statistic).alias(f"{stem}_{statistic}_us")
        for _, stem in _TIMES
        for _, statistic in STATISTICS
    )
    rows = (
        with_operator_paths(views, frame_of(views, SOURCE))
        .group_by(_KEYS, maintain_order=True)
        .agg(*sums)
    )
    rows = rows.sort("gpu_time_total_us", descending=True, nulls_last=True, maintain_order=True)
    return Report("kernel", (ReportTable(None, renamed(rows, _TITLES)),))


def _statistic(key: str, statistic: str) -> pl.Expr:
    times = pl.col(key)
    if statistic == "total":
        return pl.when(times.count() > 0).then(times.sum())
    return {"mean": times.mean(), "min": times.min(), "max": times.max()}[statistic]
