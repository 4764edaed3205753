"""The samples of a trace by series, and as many of their points as a curve needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.intervals import Intervals
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_SERIES = 500
"""Series of a trace that are looked at; a damaged one may have a series per sample."""

_KEYS = ("source_code", "metric_code", "unit_code")
_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SampleSeries:
    """What was sampled of one source.

    Attributes:
        source: Of what it is, ``"GPU 0"``, ``"host"``.
        metric: What was measured.
        unit: ``"%"``, ``"MHz"``; empty for numbers without one.
        time_ns: When, ascending.
        value: The values, finite.
    """

    source: str
    metric: str
    unit: str
    time_ns: Int64
    value: Float64


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """All series, by source and metric.

    Attributes:
        series: Those with most samples, at most :data:`MAX_SERIES`.
        left_out: How many more there are.
        origin_ns: The start of the recording: of its slices, of its samples where it has none.
    """

    series: tuple[SampleSeries, ...]
    left_out: int
    origin_ns: int


@per_trace
def samples(trace: Trace) -> Samples:
    """The samples of a trace; values that are no numbers are left out."""
    points = trace.samples.filter(pl.col("value").is_finite())
    counted = points.group_by(_KEYS, maintain_order=True).len()
    left_out = max(0, counted.height - MAX_SERIES)
    if left_out:
        kept = counted.top_k(MAX_SERIES, by="len")
        points = points.join(kept, on=_KEYS, how="semi", nulls_equal=True)
    parts = points.partition_by(_KEYS, maintain_order=True) if points.height else []
    series = sorted((_series(trace, part) for part in parts), key=_order)
    begin_ns = trace.meta.start_ns
    if trace.slices.is_empty() and series:
        begin_ns = min(int(each.time_ns[0]) for each in series)
    return Samples(tuple(series), left_out, begin_ns)


def _series(trace: Trace, part: pl.DataFrame) -> SampleSeries:
    source, metric, unit = (trace.text(part[key][0]) or "" for key in _KEYS)
    time_ns, value = part["time_ns"].to_numpy(), part["value"].to_numpy()
    if np.any(time_ns[1:] < time_ns[:-1]):
        order = np.argsort(time_ns, kind="stable")
        time_ns, value = time_ns[order], value[order]
    return SampleSeries(source or "recording", metric or "value", unit, time_ns, value)


def _order(series: SampleSeries) -> tuple[str, str, str]:
    return series.source, series.metric, series.unit


def within(series: SampleSeries, stretches: Intervals) -> SampleSeries:
    """The samples whose time lies in one of ``stretches`` (disjoint, ascending)."""
    if len(stretches.start_ns) == 1 and stretches.start_ns[0] == _LIMITS.min:
        first, last = 0, int(np.searchsorted(series.time_ns, stretches.end_ns[0]))
        chosen: slice | Int64 = slice(first, last)
    else:
        at = np.searchsorted(stretches.start_ns, series.time_ns, side="right") - 1
        inside = (at >= 0) & (series.time_ns < np.append(stretches.end_ns, _LIMITS.min)[at])
        chosen = np.flatnonzero(inside)
    return SampleSeries(
        series.source, series.metric, series.unit, series.time_ns[chosen], series.value[chosen]
    )


def thinned(series: SampleSeries, limit: int) -> Int64:
    """Which samples to draw, ascending: all of at most ``limit``, else of each of equally long
    stretches of time the first lowest and the first highest."""
    count = len(series.time_ns)
    if count <= limit:
        return np.arange(count)
    buckets = max(1, limit // 2)
    begin, end = int(series.time_ns[0]), int(series.time_ns[-1])
    edges = begin + (np.arange(buckets) * ((end - begin + 1) / buckets)).astype(np.int64)
    first = np.unique(np.searchsorted(series.time_ns, edges))
    size = np.diff(np.append(first, count))
    kept = []
    for reduce in (np.minimum, np.maximum):
        extreme = np.repeat(reduce.reduceat(series.value, first), size)
        rows = np.flatnonzero(series.value == extreme)
        bucket = np.searchsorted(first, rows, side="right")
        kept.append(rows[np.append(True, bucket[1:] != bucket[:-1])])
    return np.unique(np.concatenate(kept))
