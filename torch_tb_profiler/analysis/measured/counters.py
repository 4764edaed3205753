"""The counters of devices, however a recording carries them: as counter events or as samples.

Definitions: ``docs/metrics.md#measured-counters``.
"""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.measured.signals import Signal, empty_signal, sampled_signal
from torch_tb_profiler.analysis.recording.samples import (
    MAX_SERIES,
    SampleSeries,
    has_own_clock,
    samples,
    series_of,
    series_order,
)
from torch_tb_profiler.knowledge.device_counters import CounterMeaning, counter_meaning
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.counter_names import split_unit
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

MAX_VALUE = 1e18
"""More than anything counts in a second: such a value is damage and would spoil every sum."""

_SOURCE = re.compile(r"(?:GPU|NPU|XPU|MTIA|HPU)\s*(\d+)")
_SERIES = ("track", "name_code", "series_code")
_MAX_NUMBER_CHARS = 9


class DeviceCounter(Struct, frozen=True, eq=False):
    """One counter of one device.

    Attributes:
        device: Number of the device.
        meaning: What its name says of it; its values are multiplied by ``meaning.scale`` already.
        series: Its samples; ``metric`` is the name as recorded, without the unit.
        event: Track, name and series of its counter events, as codes; None of samples.
    """

    device: int
    meaning: CounterMeaning
    series: SampleSeries
    event: tuple[int, int, int] | None = None

    @property
    def role(self) -> str | None:
        """What it measures; None where its name is not known."""
        return None if self.meaning.role is None else self.meaning.role.role

    @property
    def signal(self) -> Signal:
        """Its values over time; empty for amounts, which belong to no interval."""
        if self.meaning.role is not None and self.meaning.role.kind == "total":
            return empty_signal()
        return sampled_signal(self.series)


@per_trace
def device_counters(trace: Trace) -> tuple[DeviceCounter, ...]:
    """All counters of devices, by device, kind and name; none of samples with their own clock."""
    counters = [*_of_events(trace), *_of_samples(trace)]
    return tuple(sorted(counters, key=lambda each: series_order(each.series)))


def counters_of_role(trace: Trace, role: str) -> dict[int, DeviceCounter]:
    """Per device the counter of a role; of several the one whose samples cover most time, then the
    first in ``device_counters.toml``."""
    chosen: dict[int, DeviceCounter] = {}
    ranks: dict[int, tuple[int, int]] = {}
    for each in device_counters(trace):
        if each.role == role and len(each.series.value):
            rank = (-each.signal.covered_ns, each.meaning.rank)
            if each.device not in ranks or rank < ranks[each.device]:
                chosen[each.device], ranks[each.device] = each, rank
    return chosen


def _of_samples(trace: Trace) -> list[DeviceCounter]:
    if trace.samples.is_empty() or has_own_clock(trace):
        return []
    counters = []
    for series in samples(trace).series:
        match = _SOURCE.fullmatch(series.source)
        if match is not None and len(match[1]) <= _MAX_NUMBER_CHARS:
            meaning = counter_meaning(series.metric, series.unit)
            counters.append(DeviceCounter(int(match[1]), meaning, _scaled(series, meaning)))
    return counters


def _of_events(trace: Trace) -> list[DeviceCounter]:
    """The counters of the file that are on the rows of a device, or have a name that only devices
    have while one device ran."""
    points = trace.counters
    if points.is_empty():
        return []
    points = points.with_columns(pl.col(*_SERIES).fill_null(-1), pl.col("value").fill_null(np.nan))
    if points.group_by(_SERIES).len().height > MAX_SERIES:
        most = points.group_by(_SERIES, maintain_order=True).len().top_k(MAX_SERIES, by="len")
        points = points.join(most, on=_SERIES, how="semi")
    devices = dict(trace.tracks.select("track", "device").iter_rows())
    used = trace.devices.filter("used")["device"].to_list()
    counters = []
    for (track, name_code, series_code), part in points.partition_by(
        _SERIES, maintain_order=True, as_dict=True
    ).items():
        name, unit = split_unit(counter_name(trace, name_code, series_code))
        meaning = counter_meaning(name, unit)
        device = devices.get(track)
        if device is None and meaning.role is not None and len(used) == 1:
            device = used[0]
        if device is not None:
            key = (f"GPU {device}", name, meaning.unit)
            series = series_of(key, part["time_ns"].to_numpy(), part["value"].to_numpy())
            event = (int(track), int(name_code), int(series_code))
            counters.append(DeviceCounter(device, meaning, _scaled(series, meaning), event))
    return counters


def counter_name(trace: Trace, name_code: int, series_code: int) -> str:
    """What a counter event is called, with its series where that has a name of its own."""
    name, series = trace.text(name_code) or "counter", trace.text(series_code)
    return name if series in (None, "", name) else f"{name}: {series}"


def _scaled(series: SampleSeries, meaning: CounterMeaning) -> SampleSeries:
    """The series in the unit of its meaning, without values that nothing can have."""
    value = series.value if meaning.scale == 1 else series.value * meaning.scale
    rows: Int64 | slice = slice(None)
    if np.abs(value).max(initial=0) > MAX_VALUE:
        rows = np.flatnonzero(np.abs(value) <= MAX_VALUE)
    return SampleSeries(
        series.source,
        series.metric,
        meaning.unit,
        series.time_ns[rows],
        value[rows],
        None if series.interval_ns is None else series.interval_ns[rows],
    )
