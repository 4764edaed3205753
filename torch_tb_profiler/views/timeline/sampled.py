"""What was sampled of hosts and devices, as counters of the timeline: a heading per source."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.measured.counters import device_counters
from torch_tb_profiler.analysis.recording.samples import (
    SampleSeries,
    has_own_clock,
    median_interval_ns,
    samples,
    sampling_gaps,
)
from torch_tb_profiler.knowledge.resources import (
    is_momentary,
    metric_meaning,
    resources_file,
    source_kind,
)
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.scales import larger_unit
from torch_tb_profiler.views.timeline.curves import StepCurve
from torch_tb_profiler.views.timeline.device_counters import device_group
from torch_tb_profiler.views.timeline.tracks import Counter, Group, TimelineTrack, Unit

UNITS: dict[str, Unit] = {"%": "pct", "bytes": "bytes"}
"""Units that pages scale; others stand behind the number."""


def sampled_counters(trace: Trace) -> tuple[list[Counter], int]:
    """A counter per series, by source, and how many series are left out. None of samples with a
    clock of their own."""
    if trace.samples.is_empty() or has_own_clock(trace):
        return [], 0
    sampled = samples(trace)
    groups: dict[str, Group] = {}
    listed = []
    of_kind = [kind.title for kind in resources_file().kinds]
    for number, series in enumerate(sampled.series):
        kind = source_kind(series.source, "")
        label = kind.lower() if kind in of_kind else series.source
        group = groups.setdefault(label, Group(f"s{len(groups)}", f"{label}: sampled", "process"))
        title = series.metric
        if kind in of_kind and series.source.lower() != kind.lower():
            title = f"{series.source}: {title}"
        listed.append(_counter(f"s{number}.samples", title, series, group, trace.meta.start_ns))
    return listed, sampled.left_out


def measured_counters(trace: Trace, known: Mapping[str, Group]) -> list[Counter]:
    """The counters of the file that are of a device, under its heading: utilization, memory, links,
    power, clocks, then those whose names are not known.

    Args:
        trace: The trace.
        known: Headings there are, by key.
    """
    listed = []
    of_events = (each for each in device_counters(trace) if each.event is not None)
    for number, each in enumerate(of_events):
        if len(each.series.value):
            group = device_group(trace, each.device)
            group, title = known.get(group.key, group), each.meaning.title
            key = f"d{each.device}.measured.{number}"
            listed.append(_counter(key, title, each.series, group, trace.meta.start_ns))
    return listed


def _help(series: SampleSeries) -> str:
    if is_momentary(series.source):
        label = series.source
        return f"Measured per kernel: {label}. Each value is drawn until the next measured kernel."
    known = metric_meaning(series.source, series.metric, series.unit)
    if known is None:
        return f"Sampled values of {series.source}. Each value is drawn until the next."
    held = (
        "covers the time since the previous sample" if known.interval else "is drawn until the next"
    )
    return f"{known.help} Sampled for {series.source}; each value {held}."


def _counter(key: str, title: str, series: SampleSeries, group: Group, origin_ns: int) -> Counter:
    divisor, shown = larger_unit(series.unit, float(np.abs(series.value).max()))
    curve = _curve(replace(series, value=series.value / divisor), origin_ns)
    unit = UNITS.get(series.unit)
    track = TimelineTrack(
        key,
        title,
        kind="counter",
        group=group.key,
        help=_help(series),
        lanes=1,
        unit=unit,
        unit_label=None if unit else shown or None,
        maximum=curve.maximum,
    )
    return Counter(track, group, curve)


def _curve(series: SampleSeries, origin_ns: int) -> StepCurve:
    """The values; of our own recorder's unknown where nothing was sampled for long."""
    time_ns, value = series.time_ns - origin_ns, series.value
    rows = (
        sampling_gaps(series)
        if metric_meaning(series.source, series.metric, series.unit) is not None
        else ()
    )
    if len(rows):
        ends = time_ns[rows] + median_interval_ns(time_ns)
        positions = np.asarray(rows) + 1
        time_ns, value = np.insert(time_ns, positions, ends), np.insert(value, positions, np.nan)
    return StepCurve(time_ns, value)
