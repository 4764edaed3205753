"""Utilization of hosts and devices: samples, and counters of utilization."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.recording.samples import SampleSeries, samples, series_order
from torch_tb_profiler.knowledge.resources import is_elsewhere, is_usage_counter
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

HOST = "host"
PERCENT = "%"
RECORDING = "recording"


@per_trace
def measured(trace: Trace) -> tuple[SampleSeries, ...]:
    """All series of samples and counters, by source and metric."""
    sampled = [each for each in samples(trace).series if not is_elsewhere(each.metric)]
    every = [*sampled, *_counters(trace)]
    return tuple(sorted(every, key=series_order))


def has_measured(trace: Trace) -> bool:
    """Whether :func:`measured` or :func:`means_of_recorder` have any series, by names alone."""
    named = (
        (trace.samples["metric_code"], lambda name: not is_elsewhere(name)),
        (trace.counters["name_code"], is_usage_counter),
    )
    info = trace.meta.info
    return (info.process_cpu_pct, info.system_cpu_pct) != (None, None) or any(
        is_shown(trace.text(code) or "")
        for codes_of, is_shown in named
        for code in codes_of.unique().to_list()
    )


def means_of_recorder(trace: Trace) -> list[tuple[str, float]]:
    """Metric and value of the means in percent that the recorder made of the whole recording, where
    they are not among the samples."""
    info = trace.meta.info
    means = {
        "CPU utilization of the process": info.process_cpu_pct,
        "CPU utilization": info.system_cpu_pct,
    }
    sampled = {each.metric for each in samples(trace).series}
    return [
        (metric, value)
        for metric, value in means.items()
        if value is not None and metric not in sampled
    ]


def _counters(trace: Trace) -> list[SampleSeries]:
    """Series of the counters that tell of use; of which row of the trace they are, their process
    says."""
    if trace.counters.is_empty():
        return []
    shows_use = codes.map_names(
        trace, trace.counters["name_code"].to_numpy(), is_usage_counter, np.bool_
    )
    points = trace.counters.filter(pl.Series(shows_use), pl.col("value").is_finite())
    if points.is_empty():
        return []
    rows = {row["track"]: row for row in trace.tracks.iter_rows(named=True)}
    series = []
    for part in points.partition_by("track", "name_code", "series_code", maintain_order=True):
        ordered = part.sort("time_ns", maintain_order=True)
        row = rows.get(part["track"][0], {})
        name, series_name = (
            trace.text(part["name_code"][0]) or "",
            trace.text(part["series_code"][0]),
        )
        series.append(
            SampleSeries(
                _source(row),
                name if series_name in (None, "", name) else f"{name}: {series_name}",
                "",
                ordered["time_ns"].to_numpy(),
                ordered["value"].to_numpy(),
            )
        )
    return series


def _source(row: dict[str, object]) -> str:
    if row.get("is_device") and row.get("device") is not None:
        return f"GPU {row['device']}"
    return str(row.get("process_name") or "") or RECORDING
