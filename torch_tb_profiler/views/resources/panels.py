"""Curves of what was measured: a panel per unit, of the host, the process, its workers, devices."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.samples import (
    SampleSeries,
    downsample,
    median_interval_ns,
    sampling_gaps,
)
from torch_tb_profiler.knowledge.resources import (
    is_momentary,
    kinds,
    metric_meaning,
    source_kind,
)
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import larger_unit
from torch_tb_profiler.views.schema import Line, Note, Series, Unit

MAX_PANELS = 32
MAX_LINES = 8
"""Of a panel; there are no more colours."""
MAX_MIXED = 4
"""Curves of the same metrics of several sources that remain distinguishable."""
MAX_POINTS = 400
"""Of a line: about as many as it is wide."""
SHORTEST = 200
"""What holds for a moment is drawn as long as this part of its curve, to be seen at all."""

TITLES = {
    "%": "use",
    "bytes": "memory and sizes",
    "bytes/s": "throughput",
    "1/s": "events per second",
    "W": "power",
    "MHz": "clocks",
    "°C": "temperature",
}
"""Unit → what a panel of several metrics is called."""


UNITS: dict[str, Unit] = {"%": "pct", "bytes": "bytes"}
"""Units that pages scale; others stand in the title of the axis."""

Panels = dict[tuple[str, str, str], list[SampleSeries]]
"""Kind of source, unit and, of numbers without one, metric → what is drawn together."""


def panels(series: Sequence[SampleSeries], origin_ns: int) -> tuple[dict[str, Series], list[Note]]:
    """The charts by key, those of the host first, and what they leave out."""
    constant = [each for each in series if _is_uninformative(each)]
    grouped = _grouped([each for each in series if not _is_uninformative(each)])
    shown = dict(list(grouped.items())[:MAX_PANELS])
    charts: dict[str, Series] = {}
    drawn = 0
    for (kind, unit, metric), members in shown.items():
        lines = _varying(members)
        drawn += len(lines)
        key = "_".join(_slug(part) for part in (kind, unit, metric) if part)
        charts[key] = _chart(kind, unit, lines, origin_ns)
    left_out = len(series) - drawn - len(constant)
    if not left_out:
        return charts, []
    text = (
        f"The {left_out} curves that vary least are not drawn. The table has their means, the "
        "timeline all their values."
    )
    return charts, [Note("quality", "curves_left_out", "info", text, {"count": left_out})]


def _grouped(series: Sequence[SampleSeries]) -> Panels:
    grouped: dict[tuple[str, str], list[SampleSeries]] = {}
    for each in series:
        kind = source_kind(each.source, each.metric)
        grouped.setdefault((kind, each.unit), []).append(each)
    split: Panels = {}
    for (kind, unit), members in grouped.items():
        for each in members:
            metric = "" if unit and not _is_split(members) else each.metric
            split.setdefault((kind, unit, metric), []).append(each)
    # Percentages are what one looks for first.
    return dict(
        sorted(split.items(), key=lambda item: (item[0][1] != "%", kinds().index(item[0][0])))
    )


def _is_split(members: list[SampleSeries]) -> bool:
    """Whether each metric of several sources has a panel of its own: they are too many for one, or
    the same of each, as of workers."""
    if len({each.source for each in members}) == 1:
        return False
    times = Counter(each.metric for each in members)
    are_alike = min(times.values()) > 1 and len(members) > MAX_MIXED
    return are_alike or len(members) > MAX_LINES


def _is_uninformative(series: SampleSeries) -> bool:
    """Whether a curve carries no information: one of those that are mostly 0, and is, or that stay
    what they are."""
    known = metric_meaning(series.source, series.metric, series.unit)
    return known is not None and (known.constant or (known.rare and not series.value.any()))


def _varying(members: list[SampleSeries]) -> list[SampleSeries]:
    """As many as a panel holds, those that vary most, in their own order."""
    if len(members) <= MAX_LINES:
        return members
    spread = [float(each.value.max() - each.value.min()) for each in members]
    order = sorted(range(len(members)), key=lambda row: -spread[row])[:MAX_LINES]
    return [members[row] for row in sorted(order)]


def _chart(kind: str, unit: str, lines: list[SampleSeries], origin_ns: int) -> Series:
    highest = max(float(np.abs(each.value).max()) for each in lines)
    divisor, shown_unit = larger_unit(unit, highest)
    metric = _common(each.metric for each in lines)
    return Series(
        _title(kind, unit, metric, lines),
        "stair",
        "Time since the start of the recording",
        "us",
        (metric or "Value") + (f" ({shown_unit})" if unit and unit not in UNITS else ""),
        UNITS.get(unit),
        tuple(
            _line(replace(each, value=each.value / divisor), name, origin_ns)
            for each, name in zip(lines, _names(lines), strict=True)
        ),
    )


def _common(names: Iterable[str]) -> str | None:
    """What all of them are, if they are one."""
    distinct = set(names)
    return distinct.pop() if len(distinct) == 1 else None


def _title(kind: str, unit: str, metric: str | None, lines: list[SampleSeries]) -> str:
    """What a panel is called: of whom, if that is one, and what."""
    source = _common(each.source for each in lines)
    subject = source if source is not None and source_kind(source, "") == kind else kind
    return f"{subject[:1].upper()}{subject[1:]}: {metric or TITLES.get(unit, unit)}"


def _names(lines: list[SampleSeries]) -> list[str]:
    """What lines are called beside the title, each else: processes of one name may count the
    same."""
    source, metric = (_common(getattr(each, key) for each in lines) for key in ("source", "metric"))
    seen: Counter[str] = Counter()
    names = []
    for each in lines:
        name = f"{each.source} {each.metric}"
        if metric is not None and len(lines) > 1:
            name = each.source
        elif source is not None:
            name = each.metric
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _line(series: SampleSeries, name: str, origin_ns: int) -> Line:
    known = metric_meaning(series.source, series.metric, series.unit)
    shown = _since(series, origin_ns) if known is None else series
    rows = downsample(shown, MAX_POINTS)
    time_us = (shown.time_ns[rows] - origin_ns) / NS_PER_US
    value: list[float | None] = shown.value[rows].tolist()
    if known is None:
        is_short = is_momentary(series.source)
        return Line(name, *(_broken(time_us, value) if is_short else (time_us.tolist(), value)))
    if known.interval and len(shown.time_ns) > 1:  # the last value is of a time too
        end_ns = int(shown.time_ns[-1]) + median_interval_ns(shown.time_ns) - origin_ns
        time_us, value = np.append(time_us, end_ns / NS_PER_US), [*value, value[-1]]
    return Line(name, *_with_gaps(shown, time_us.tolist(), value, origin_ns))


def _with_gaps(
    series: SampleSeries, x: list[float], y: list[float | None], origin_ns: int
) -> tuple[list[float], list[float | None]]:
    """A curve that ends where nothing was sampled for long, and goes on behind."""
    rows = sampling_gaps(series)
    if not len(rows):
        return x, y
    ends = (series.time_ns[rows] + median_interval_ns(series.time_ns) - origin_ns) / NS_PER_US
    at = np.searchsorted(x, ends)
    return np.insert(x, at, ends).tolist(), _inserted(y, at.tolist())


def _inserted(values: list[float | None], positions: list[int]) -> list[float | None]:
    """The values with None in front of those at ascending ``places``."""
    result: list[float | None] = []
    begin = 0
    for position in positions:
        result += [*values[begin:position], None]
        begin = position
    return result + values[begin:]


def _since(series: SampleSeries, begin_ns: int) -> SampleSeries:
    """A series from ``begin_ns`` on, with the value that held then."""
    first = int(np.searchsorted(series.time_ns, begin_ns))
    time_ns, value = series.time_ns[first:], series.value[first:]
    if first and not is_momentary(series.source) and (not len(time_ns) or time_ns[0] > begin_ns):
        time_ns = np.append(np.int64(begin_ns), time_ns)
        value = np.append(series.value[first - 1], value)
    return replace(series, time_ns=time_ns, value=value)


def _broken(time_us: Float64, value: list[float | None]) -> tuple[list[float], list[float | None]]:
    """Points of samples that hold for a moment: after each that no other soon follows, the curve
    ends."""
    x: list[float] = []
    y: list[float | None] = []
    width = float(time_us[-1] - time_us[0]) / SHORTEST if len(time_us) else 0.0
    for at, behind, each in zip(
        time_us.tolist(), [*time_us[1:].tolist(), math.inf], value, strict=True
    ):
        x.append(at)
        y.append(each)
        if behind - at > width:
            x += (at + width, at + width)
            y += (each, None)
    return x, y


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower().replace("%", "pct")).strip("_") or "value"
