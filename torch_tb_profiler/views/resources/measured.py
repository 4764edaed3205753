"""Utilization of hosts and devices: samples, and counters of utilization."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.measured.counters import counter_name, device_counters
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
    of_devices = [each for each in device_counters(trace) if each.event is not None]
    shown = {each.event for each in of_devices}
    every = [*sampled, *(each.series for each in of_devices), *_others(trace, shown)]
    return tuple(sorted((each for each in every if len(each.value)), key=series_order))


def has_measured(trace: Trace) -> bool:
    """Whether :func:`measured` or :func:`means_of_recorder` have any series, by names alone where
    these say it."""
    named = (
        (trace.samples["metric_code"], lambda name: not is_elsewhere(name)),
        (trace.counters["name_code"], is_usage_counter),
    )
    info = trace.meta.info
    if (info.process_cpu_pct, info.system_cpu_pct) != (None, None):
        return True
    return any(
        is_shown(trace.text(code) or "")
        for codes_of, is_shown in named
        for code in codes_of.unique().to_list()
    ) or bool(device_counters(trace))


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


def _others(trace: Trace, shown: set[tuple[int, int, int] | None]) -> list[SampleSeries]:
    """Series of the other counters whose names tell of use; of what, their process says."""
    if trace.counters.is_empty():
        return []
    shows_use = codes.map_names(
        trace, trace.counters["name_code"].to_numpy(), is_usage_counter, np.bool_
    )
    points = trace.counters.filter(pl.Series(shows_use), pl.col("value").is_finite())
    rows = {row["track"]: row for row in trace.tracks.iter_rows(named=True)}
    series = []
    for key, part in points.partition_by(
        "track", "name_code", "series_code", maintain_order=True, as_dict=True
    ).items():
        if key in shown:
            continue
        ordered = part.sort("time_ns", maintain_order=True)
        source = str(rows.get(part["track"][0], {}).get("process_name") or "") or RECORDING
        name = (source, counter_name(trace, key[1], key[2]), "")
        time_ns, value = ordered["time_ns"].to_numpy(), ordered["value"].to_numpy()
        series.append(SampleSeries(*name, time_ns, value))
    return series
