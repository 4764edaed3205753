"""The samples of a trace by series, and as many of their points as a curve needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from torch_tb_profiler.analysis.algebra.dense_ids import factorize, order_by_id
from torch_tb_profiler.analysis.algebra.intervals import Intervals
from torch_tb_profiler.knowledge.resources import kind_of, kinds, meaning, place_of
from torch_tb_profiler.trace.columns import Float64, Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_SERIES = 500
"""Series of a trace that are looked at; a damaged one may have a series per sample."""

LONG = 10
"""Times the usual time between two samples: nobody knows what was in so long a gap."""

SHORTEST_GAP_NS = 10**9
_LONGEST_NS = 1 << 61

_KEYS = ("source_code", "metric_code", "unit_code")
_PARTS = re.compile(r"(\d+)").split
_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SampleSeries:
    """What was sampled of one source.

    Attributes:
        source: Of what it is, ``"GPU 0"``, ``"host"``.
        metric: What was measured.
        unit: ``"%"``, ``"MHz"``; empty for numbers without one.
        time_ns: From when each value holds, ascending: when it was sampled; of a metric of the time
            since the sample before (``knowledge/resources.toml``) when that time began.
        value: The values, finite.
        of_ns: How long the time is that each value is of; None of metrics of a moment.
    """

    source: str
    metric: str
    unit: str
    time_ns: Int64
    value: Float64
    of_ns: Int64 | None = None

    def mean(self) -> float:
        """The mean: of the time that the values are of, of metrics of a moment of the samples."""
        weighed = self.of_ns is not None and bool(self.of_ns.any())
        return float(np.average(self.value, weights=self.of_ns if weighed else None))


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """All series, in the order of :func:`in_order`.

    Attributes:
        series: Those with most samples, at most :data:`MAX_SERIES`.
        left_out: How many more there are.
        origin_ns: The start of the recording: of its slices; of its samples where it has none, or
            where these have a clock of their own.
    """

    series: tuple[SampleSeries, ...]
    left_out: int
    origin_ns: int


def have_own_clock(trace: Trace) -> bool:
    """Whether the clock of the samples is not that of the slices: their times say nothing of each
    other."""
    return bool(trace.quality.counts.get("samples_own_clock"))


@per_trace
def samples(trace: Trace) -> Samples:
    """The samples of a trace; a value that is no number only tells when that of the next begins."""
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
    kept = np.argsort(-sizes, kind="stable")[:MAX_SERIES]
    series = []
    for at, size in zip(first[kept].tolist(), sizes[kept].tolist(), strict=True):
        rows, key = slice(at, at + size), [int(each[at]) for each in keys]
        series.append(_series(trace, key, time_ns[rows], value[rows]))
    series = [each for each in series if len(each.value)]
    series.sort(key=in_order)
    begin_ns = trace.meta.start_ns
    if series and (trace.slices.is_empty() or have_own_clock(trace)):
        begin_ns = min(int(each.time_ns[0]) for each in series)
    return Samples(tuple(series), len(first) - len(kept), begin_ns)


def _is_mixed(keys: list[Int32], first: Int64) -> bool:
    """Whether series lie between each other, or there are more runs than one looks at."""
    if len(first) > 10 * MAX_SERIES:
        return True
    return len(set(zip(*(key[first].tolist() for key in keys), strict=True))) < len(first)


def _by_series(keys: list[Int32]) -> Int64:
    """The order in which the samples of a series follow each other."""
    number = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        distinct, of_key = factorize(key.astype(np.int64) + 1)
        number = factorize(number * len(distinct) + of_key)[1]
    return order_by_id(number)


def _runs(keys: list[Int32]) -> Int64:
    """Where each stretch of rows with equal keys begins."""
    if not len(keys[0]):
        return np.empty(0, np.int64)
    differs = np.ones(len(keys[0]), np.bool_)
    differs[1:] = keys[0][1:] != keys[0][:-1]
    for key in keys[1:]:
        differs[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(differs)


def _series(trace: Trace, key: list[int], time_ns: Int64, value: Float64) -> SampleSeries:
    source, metric, unit = (trace.text(code) or "" for code in key)
    if np.any(time_ns[1:] < time_ns[:-1]):
        order = np.argsort(time_ns, kind="stable")
        time_ns, value = time_ns[order], value[order]
    known, of_ns = meaning(source, metric), None
    if known is not None and known.interval:
        begin_ns = _begins(time_ns)
        time_ns, of_ns = begin_ns, time_ns - begin_ns
    is_told = np.isfinite(value)
    if not is_told.all():
        time_ns, value = time_ns[is_told], value[is_told]
        of_ns = None if of_ns is None else of_ns[is_told]
    return SampleSeries(source or "recording", metric or "value", unit, time_ns, value, of_ns)


def _begins(time_ns: Int64) -> Int64:
    """When the times began that values of the time since the sample before are of: as long ago as
    samples mostly are apart where there is none before, or long ago."""
    if len(time_ns) < 2:
        return time_ns
    usual = usual_ns(time_ns)
    before = np.append(time_ns[0] - usual, time_ns[:-1])
    return np.where(time_ns - before > LONG * float(usual), time_ns - usual, before)


def usual_ns(time_ns: Int64) -> int:
    """How far two of these times, ascending, mostly are apart; 0 of fewer than two."""
    return int(min(np.median(np.diff(time_ns)), _LONGEST_NS)) if len(time_ns) > 1 else 0


def gaps(series: SampleSeries) -> Int64:
    """The rows of a series behind which nothing was sampled for :data:`LONG` times as long as
    usual, and for a second: its process was gone, or everything stood still."""
    passed = np.diff(series.time_ns)
    if len(passed) < LONG:
        return np.empty(0, np.int64)
    least_ns = max(LONG * float(usual_ns(series.time_ns)), SHORTEST_GAP_NS)
    return np.flatnonzero(passed > least_ns)


def in_order(series: SampleSeries) -> tuple[object, ...]:
    """The order in which series are shown: host, processes, devices, each by its number; metrics as
    ``knowledge/resources.toml`` names them."""
    source, metric = series.source, series.metric
    kind = kinds().index(kind_of(source, ""))
    natural = [(len(part), part) if part.isdecimal() else (0, part) for part in _PARTS(source)]
    return kind, natural, place_of(source, metric), metric, series.unit


def within(series: SampleSeries, stretches: Intervals) -> SampleSeries:
    """The samples whose time lies in one of ``stretches`` (disjoint, ascending)."""
    if len(stretches.start_ns) == 1 and stretches.start_ns[0] == _LIMITS.min:
        first, last = 0, int(np.searchsorted(series.time_ns, stretches.end_ns[0]))
        chosen: slice | Int64 = slice(first, last)
    else:
        at = np.searchsorted(stretches.start_ns, series.time_ns, side="right") - 1
        inside = (at >= 0) & (series.time_ns < np.append(stretches.end_ns, _LIMITS.min)[at])
        chosen = np.flatnonzero(inside)
    return replace(
        series,
        time_ns=series.time_ns[chosen],
        value=series.value[chosen],
        of_ns=None if series.of_ns is None else series.of_ns[chosen],
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
