"""The samples of a trace by series, downsampled to what a curve needs."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize, order_by_id
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.knowledge.resources import kinds, metric_meaning, metric_rank, source_kind
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_SERIES = 500
"""At most so many series of a trace are used; a damaged one may have a series per sample."""

LONG = 10
"""A gap of so many median intervals between samples has unknown values."""

SHORTEST_GAP_NS = 10**9
_LONGEST_NS = 1 << 61

_KEYS = ("source_code", "metric_code", "unit_code")
_PARTS = re.compile(r"(\d+)").split
_LIMITS = np.iinfo(np.int64)


class SampleSeries(Struct, frozen=True, eq=False):
    """One metric sampled from one source.

    Attributes:
        source: ``"GPU 0"``, ``"host"``.
        metric: Name of the metric.
        unit: ``"%"``, ``"MHz"``; empty for numbers without one.
        time_ns: From when each value holds, ascending: when it was sampled; for a metric of the
            interval since the sample before (``knowledge/resources.toml``) when that began.
        value: The values, finite.
        interval_ns: How long the interval is that each value describes; None for metrics of a
            moment.
    """

    source: str
    metric: str
    unit: str
    time_ns: Int64
    value: Float64
    interval_ns: Int64 | None = None

    def mean(self) -> float:
        """The mean, weighted by the intervals that the values describe, if any."""
        weighted = self.interval_ns is not None and bool(self.interval_ns.any())
        return float(np.average(self.value, weights=self.interval_ns if weighted else None))


class Samples(Struct, frozen=True, eq=False):
    """All series, in the order of :func:`series_order`.

    Attributes:
        series: Those with most samples, at most :data:`MAX_SERIES`.
        left_out: How many more the trace has.
        origin_ns: The start of the recording: of its slices; of its samples where it has none, or
            where these have a clock of their own.
    """

    series: tuple[SampleSeries, ...]
    left_out: int
    origin_ns: int


def has_own_clock(trace: Trace) -> bool:
    """Whether samples and slices have different clocks, so that their times are not comparable."""
    return bool(trace.quality.counts.get("samples_own_clock"))


@per_trace
def samples(trace: Trace) -> Samples:
    """The samples of a trace; a NaN only marks where the interval of the next value starts."""
    points = trace.samples
    keys = [points[key].fill_null(-1).to_numpy() for key in _KEYS]
    time_ns, value = points["time_ns"].to_numpy(), points["value"].to_numpy()
    first = _runs(keys)
    if _is_mixed(keys, first):
        order = _by_series(keys)
        keys = [key[order] for key in keys]
        time_ns, value = time_ns[order], value[order]
        first = _runs(keys)
    sizes = np.diff(np.append(first, len(value)))
    longest = np.argsort(-sizes, kind="stable")[:MAX_SERIES]
    series = []
    for row, size in zip(first[longest].tolist(), sizes[longest].tolist(), strict=True):
        rows, key = slice(row, row + size), [int(column[row]) for column in keys]
        series.append(_series(trace, key, time_ns[rows], value[rows]))
    series = [each for each in series if len(each.value)]
    series.sort(key=series_order)
    begin_ns = trace.meta.start_ns
    if series and (trace.slices.is_empty() or has_own_clock(trace)):
        begin_ns = min(int(each.time_ns[0]) for each in series)
    return Samples(tuple(series), len(first) - len(longest), begin_ns)


def _is_mixed(keys: list[Int32], first: Int64) -> bool:
    """Whether the rows of series alternate, or there are too many runs to check."""
    if len(first) > 10 * MAX_SERIES:
        return True
    return len(set(zip(*(key[first].tolist() for key in keys), strict=True))) < len(first)


def _by_series(keys: list[Int32]) -> Int64:
    """The order that brings the samples of each series together."""
    series = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        distinct, ids = factorize(key.astype(np.int64) + 1)
        series = factorize(series * len(distinct) + ids)[1]
    return order_by_id(series)


def _runs(keys: list[Int32]) -> Int64:
    """Where each run of rows with equal keys starts."""
    if not len(keys[0]):
        return np.empty(0, np.int64)
    differs = np.ones(len(keys[0]), np.bool_)
    differs[1:] = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        differs[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differs)


def _series(trace: Trace, key: list[int], time_ns: Int64, value: Float64) -> SampleSeries:
    source, metric, unit = (trace.text(code) or "" for code in key)
    return series_of((source or "recording", metric or "value", unit), time_ns, value)


def series_of(name: tuple[str, str, str], time_ns: Int64, value: Float64) -> SampleSeries:
    """The series of the samples of one metric, in any order; what is not finite only marks a time.

    Args:
        name: Source, metric and unit.
        time_ns: When each was sampled.
        value: The values.
    """
    if np.any(time_ns[1:] < time_ns[:-1]):
        order = np.argsort(time_ns, kind="stable")
        time_ns, value = time_ns[order], value[order]
    known, interval_ns = metric_meaning(*name), None
    if known is not None and known.interval:
        start_ns = _interval_starts(time_ns)
        time_ns, interval_ns = start_ns, time_ns - start_ns
    is_finite = np.isfinite(value)
    if not is_finite.all():
        time_ns, value = time_ns[is_finite], value[is_finite]
        interval_ns = None if interval_ns is None else interval_ns[is_finite]
    return SampleSeries(*name, time_ns, value, interval_ns)


def _interval_starts(time_ns: Int64) -> Int64:
    """When the interval of each value started: at the sample before; one median interval ago where
    there is none, or only one long ago."""
    if len(time_ns) < 2:
        return time_ns
    median = median_interval_ns(time_ns)
    before = np.append(time_ns[0] - median, time_ns[:-1])
    return np.where(time_ns - before > LONG * float(median), time_ns - median, before)


def median_interval_ns(time_ns: Int64) -> int:
    """Median distance of these times, ascending; 0 for fewer than two."""
    return int(min(np.median(np.diff(time_ns)), _LONGEST_NS)) if len(time_ns) > 1 else 0


def sampling_gaps(series: SampleSeries) -> Int64:
    """The rows after which nothing was sampled for :data:`LONG` median intervals and at least a
    second: the process had ended, or the machine stood still."""
    passed = np.diff(series.time_ns)
    if len(passed) < LONG:
        return np.empty(0, np.int64)
    least_ns = max(LONG * float(median_interval_ns(series.time_ns)), SHORTEST_GAP_NS)
    return np.flatnonzero(passed > least_ns)


def series_order(series: SampleSeries) -> tuple[object, ...]:
    """Sort key of series: host, processes, devices, each by its number; metrics in the order of
    ``knowledge/resources.toml``."""
    source, metric = series.source, series.metric
    kind = kinds().index(source_kind(source, ""))
    natural = [(len(part), part) if part.isdecimal() else (0, part) for part in _PARTS(source)]
    return kind, natural, metric_rank(source, metric, series.unit), metric, series.unit


def select_within(series: SampleSeries, stretches: Intervals) -> SampleSeries:
    """The samples whose time lies in one of ``stretches`` (disjoint, ascending)."""
    if len(stretches.start_ns) == 1 and stretches.start_ns[0] == _LIMITS.min:
        last = int(np.searchsorted(series.time_ns, stretches.end_ns[0]))
        chosen: slice | Int64 = slice(0, last)
    else:
        stretch = np.searchsorted(stretches.start_ns, series.time_ns, side="right") - 1
        ends_ns = np.append(stretches.end_ns, _LIMITS.min)
        chosen = np.flatnonzero((stretch >= 0) & (series.time_ns < ends_ns[stretch]))
    return replace(
        series,
        time_ns=series.time_ns[chosen],
        value=series.value[chosen],
        interval_ns=None if series.interval_ns is None else series.interval_ns[chosen],
    )


def downsample(series: SampleSeries, limit: int) -> Int64:
    """The rows of the samples to draw, ascending: all up to ``limit``, else the first lowest and
    the first highest of each of equally long buckets of time."""
    count = len(series.time_ns)
    if count <= limit:
        return np.arange(count)
    buckets = max(1, limit // 2)
    begin, end = int(series.time_ns[0]), int(series.time_ns[-1])
    edges = begin + (np.arange(buckets) * ((end - begin + 1) / buckets)).astype(np.int64)
    first = distinct_values(np.searchsorted(series.time_ns, edges))
    size = np.diff(np.append(first, count))
    extremes = []
    for reduce in (np.minimum, np.maximum):
        extreme = np.repeat(reduce.reduceat(series.value, first), size)
        rows = np.flatnonzero(series.value == extreme)
        bucket = np.searchsorted(first, rows, side="right")
        extremes.append(rows[np.append(True, bucket[1:] != bucket[:-1])])
    return distinct_values(np.concatenate(extremes))
