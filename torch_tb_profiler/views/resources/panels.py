"""Curves of what was measured: a panel per unit, of the host and of devices."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from torch_tb_profiler.analysis.samples import SampleSeries, thinned
from torch_tb_profiler.knowledge.resources import is_device, is_momentary
from torch_tb_profiler.trace.columns import Float64
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Line, Note, Series, Unit

MAX_PANELS = 16
MAX_LINES = 8
"""Of a panel; there are no more colours."""
MAX_POINTS = 400
"""Of a line: about as many as it is wide."""
SHORTEST = 200
"""What holds for a moment is drawn as long as this part of its curve, to be seen at all."""

LARGE = {"bytes/s": (1e9, "GB/s")}
"""Units whose values are drawn in a larger one."""

UNITS: dict[str, Unit] = {"%": "pct", "bytes": "bytes"}
"""Units that pages scale; others stand in the title of the axis."""

Panels = dict[tuple[str, str, str], list[SampleSeries]]
"""Kind of source, unit and, of numbers without one, metric → what is drawn together."""


def panels(series: Sequence[SampleSeries], origin_ns: int) -> tuple[dict[str, Series], list[Note]]:
    """The charts by key, those of the host first, and what they leave out."""
    grouped = _grouped(series)
    shown = dict(list(grouped.items())[:MAX_PANELS])
    charts: dict[str, Series] = {}
    drawn = 0
    for (kind, unit, metric), members in shown.items():
        lines = _varying(members)
        drawn += len(lines)
        key = "_".join(_slug(part) for part in (kind, unit or metric) if part)
        charts[key] = _chart(kind, unit, metric, lines, origin_ns)
    left_out = len(series) - drawn
    if not left_out:
        return charts, []
    text = (
        f"{left_out} curves are not drawn here, those that vary least: the table has their means, "
        "the timeline all of their values."
    )
    return charts, [Note("quality", "curves_left_out", "info", text, {"count": left_out})]


def _grouped(series: Sequence[SampleSeries]) -> Panels:
    grouped: Panels = {}
    for each in series:
        kind = "Devices" if is_device(each.source) or is_device(each.metric) else "Host"
        key = (kind, each.unit, "" if each.unit else each.metric)
        grouped.setdefault(key, []).append(each)
    # Percentages are what one looks for first.
    return dict(sorted(grouped.items(), key=lambda item: (item[0][0] != "Host", item[0][1] != "%")))


def _varying(members: list[SampleSeries]) -> list[SampleSeries]:
    """As many as a panel holds, those that vary most, in their own order."""
    if len(members) <= MAX_LINES:
        return members
    spread = [float(each.value.max() - each.value.min()) for each in members]
    order = sorted(range(len(members)), key=lambda place: -spread[place])[:MAX_LINES]
    return [members[place] for place in sorted(order)]


def _chart(kind: str, unit: str, metric: str, lines: list[SampleSeries], origin_ns: int) -> Series:
    is_scaled = unit in UNITS
    divisor, shown_unit = LARGE.get(unit, (1.0, unit))
    return Series(
        _title(kind, unit, metric, lines),
        "stair",
        "Time since the start of the recording",
        "us",
        (metric or "Value") if is_scaled or not unit else f"{metric or 'Value'} ({shown_unit})",
        UNITS.get(unit),
        tuple(
            _line(replace(each, value=each.value / divisor), name, origin_ns)
            for each, name in zip(lines, _names(lines, with_metric=not metric), strict=True)
        ),
    )


def _title(kind: str, unit: str, metric: str, lines: list[SampleSeries]) -> str:
    """What a panel is called; of one curve also of what it is, for it has no legend."""
    title = metric or {"%": "use", "bytes": "memory and sizes"}.get(unit, unit)
    if len({each.metric for each in lines}) == 1:
        title = lines[0].metric
    if len(lines) == 1 and lines[0].source.lower() != kind.lower():
        kind = lines[0].source
    return f"{kind}: {title}"


def _names(lines: list[SampleSeries], *, with_metric: bool) -> list[str]:
    """What lines are called, each else: processes of one name may count the same."""
    seen: Counter[str] = Counter()
    names = []
    for each in lines:
        name = f"{each.source} {each.metric}" if with_metric else each.source
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names


def _line(series: SampleSeries, name: str, origin_ns: int) -> Line:
    shown = _since(series, origin_ns)
    rows = thinned(shown, MAX_POINTS)
    time_us = (shown.time_ns[rows] - origin_ns) / NS_PER_US
    value: list[float | None] = shown.value[rows].tolist()
    if is_momentary(series.source):
        return Line(name, *_broken(time_us, value))
    return Line(name, time_us.tolist(), value)


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
