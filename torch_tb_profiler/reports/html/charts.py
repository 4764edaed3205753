"""Charts as inline SVG: the series of views as lines or bars, and the step as one bar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice

from torch_tb_profiler.reports.html.colours import colour, colours, label_class
from torch_tb_profiler.reports.html.markup import Markup, element, number
from torch_tb_profiler.reports.step_bar import StepBar
from torch_tb_profiler.reports.text import shortened
from torch_tb_profiler.views.scales import Multiple, multiple_for
from torch_tb_profiler.views.schema import Line, Series, Unit

WIDTH, HEIGHT = 1000, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 10, 8, 36
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

MAX_POINTS = 1000
"""Of a line; of more the lowest and highest of each stretch are drawn."""

MAX_BARS = 200
"""Of a bar chart; of more the first."""

MAX_LINES = 12
_CHARACTER_PX = 7.0
_BAR_HEIGHT = 34
_BRACKET_HEIGHT = 24
_MAX_BAR = 90
"""Width of a bar where there are few."""


class _Map:
    """A linear mapping of values to pixels."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._start = low, start
        self._factor = (end - start) / (high - low) if high > low else 0.0

    def __call__(self, value: float) -> float:
        return self._start + (value - self._low) * self._factor


def chart(series: Series) -> Markup | None:
    """A series as a figure with axes, legend and title; None where nothing can be drawn."""
    is_bar = series.kind in ("bar", "stacked_bar")
    filled = (line for line in series.lines if any(y or (y == 0 and not is_bar) for y in line.y))
    lines = list(islice(filled, MAX_LINES))
    if not lines:
        return None
    fills = colours([line.name for line in lines])
    drawing = _bars if is_bar else _curves
    picture = element(
        "svg",
        *drawing(series, lines, fills),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=series.title,
    )
    legend = _legend(zip((line.name for line in lines), fills, strict=True))
    left_out = len(series.lines) - len(lines) if len(lines) == MAX_LINES else 0
    more = f"The chart leaves out {left_out} more." if left_out else None
    return element(
        "figure",
        element("figcaption", element("h3", series.title)),
        legend if len(lines) > 1 else None,
        picture,
        element("small", more) if more else None,
    )


def stacked_bar(bar: StepBar, share: float = 1.0) -> Markup:
    """One bar of parts to scale with its idle part bracketed, the longest gap and a legend. Only
    its width follows the window: its labels are as large on a phone.

    Args:
        bar: The parts.
        share: Of the width that the bar takes, so that several are to one scale.
    """
    total = bar.duration_us or 1.0
    at, shapes = 0.0, []
    for part in bar.parts:
        width = part.duration_us / total * share
        name = element("text", part.name, x=6, y=_BAR_HEIGHT / 2 + 4, class_=label_class(part.name))
        fits = width * WIDTH > len(part.name) * _CHARACTER_PX + 12
        # A picture of its own cuts what does not fit into a narrow window.
        shapes.append(
            element(
                "svg",
                element("title", f"{part.name} {part.text}"),
                element("rect", width="100%", height=_BAR_HEIGHT, fill=colour(part.name)),
                name if fits else None,
                x=_percent(at),
                width=_percent(width),
                height=_BAR_HEIGHT,
            )
        )
        at += width
    bracket = _bracket(1 - bar.idle[0] / 100, bar.idle[1]) if bar.idle else []
    return element(
        "figure",
        element("figcaption", bar.title, class_="caption"),
        element(
            "svg",
            *shapes,
            *bracket,
            width="100%",
            height=_BAR_HEIGHT + (_BRACKET_HEIGHT if bracket else 0),
            class_="bar bracketed" if bracket else "bar",
            role="img",
            aria_label=bar.title,
        ),
        _legend((f"{part.name} {part.text}", colour(part.name)) for part in bar.parts),
        element("p", bar.gap) if bar.gap else None,
    )


def _bracket(start: float, label: str) -> list[Markup]:
    """A line with an end below the rest of the bar, and what it is."""
    left, top = _percent(start), _BAR_HEIGHT + 4
    ends = (
        element("line", x1=x, x2=x, y1=top - 2, y2=top + 2, class_="bracket")
        for x in (left, "100%")
    )
    line = element("line", x1=left, x2="100%", y1=top + 2, y2=top + 2, class_="bracket")
    return [*ends, line, _text(label, "100%", top + 16, "end", "soft")]


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"


def _legend(entries: Iterable[tuple[str, str]]) -> Markup:
    items = [
        element("li", element("i", style=f"background: {fill}"), name) for name, fill in entries
    ]
    return element("ul", *items, class_="legend")


def _curves(series: Series, lines: Sequence[Line], fills: Sequence[str]) -> list[Markup]:
    xs = [x for line in lines for x in line.x if math.isfinite(x)]
    ys = [y for line in lines for y in line.y if y is not None and math.isfinite(y)]
    low_x, high_x = min(xs, default=0.0), max(xs, default=1.0)
    low_y, high_y = min([0.0, *ys]), max([0.0, *ys])
    to_x = _Map(low_x, high_x, _LEFT, _LEFT + _INNER_WIDTH)
    to_y = _Map(low_y, high_y, _TOP + _INNER_HEIGHT, _TOP)
    shapes = [*_y_axis(series, low_y, high_y, to_y), *_x_axis(series, low_x, high_x, to_x)]
    for line, fill in zip(lines, fills, strict=True):
        path = _path(line, to_x, to_y, is_stair=series.kind == "stair")
        shapes.append(element("path", d=path, fill="none", stroke=fill, stroke_width=1.5))
    return shapes


def _bars(series: Series, lines: Sequence[Line], fills: Sequence[str]) -> list[Markup]:
    """Per x the bars of all lines: on each other where the chart is stacked, else side by side."""
    positions = sorted({x for line in lines for x in line.x})[:MAX_BARS]
    values = [dict(zip(line.x, line.y, strict=True)) for line in lines]
    is_stacked = series.kind == "stacked_bar"
    sums = [
        (sum if is_stacked else max)([value.get(position) or 0.0 for value in values])
        for position in positions
    ]
    high = max(sums, default=0.0)
    to_y = _Map(0.0, high, _TOP + _INNER_HEIGHT, _TOP)
    slot = _INNER_WIDTH / max(1, len(positions))
    shapes = _y_axis(series, 0.0, high, to_y)
    for at, position in enumerate(positions):
        whole = min(slot * 0.8, _MAX_BAR)
        base, left = 0.0, _LEFT + at * slot + (slot - whole) / 2
        width = whole / (1 if is_stacked else len(lines))
        for row, (value, fill) in enumerate(zip(values, fills, strict=True)):
            y = value.get(position)
            if y is None or not math.isfinite(y) or y <= 0:
                continue
            top = to_y(base + y)
            x = left if is_stacked else left + row * width
            shapes.append(
                element("rect", x=x, y=top, width=width, height=to_y(base) - top, fill=fill)
            )
            base += y if is_stacked else 0.0
        if slot >= 24 or at % math.ceil(24 / slot) == 0:
            label = number(position)
            shapes.append(_text(label, left + whole / 2, HEIGHT - 22, "middle"))
    shapes.append(_text(_axis_title(series.x_title, ""), _LEFT + _INNER_WIDTH / 2, HEIGHT - 4))
    return shapes


def _path(line: Line, to_x: _Map, to_y: _Map, *, is_stair: bool) -> str:
    pieces, is_open, last = [], False, 0.0
    for x, y in _downsampled(line):
        if y is None or not math.isfinite(y) or not math.isfinite(x):
            is_open = False
            continue
        here = f"{number(to_x(x))} {number(to_y(y))}"
        if not is_open:
            pieces.append(f"M{here}")
        elif is_stair:
            pieces.append(f"L{number(to_x(x))} {number(to_y(last))}L{here}")
        else:
            pieces.append(f"L{here}")
        is_open, last = True, y
    return "".join(pieces)


def _downsampled(line: Line) -> list[tuple[float, float | None]]:
    points = list(zip(line.x, line.y, strict=True))
    if len(points) <= MAX_POINTS:
        return points
    size = math.ceil(2 * len(points) / MAX_POINTS)
    shown: list[tuple[float, float | None]] = []
    for start in range(0, len(points), size):
        known = [(x, y) for x, y in points[start : start + size] if y is not None]
        if known:
            ends = {min(known, key=lambda point: point[1]), max(known, key=lambda point: point[1])}
            shown += sorted(ends)
        else:
            shown.append(points[start])
    return shown


def _y_axis(series: Series, low: float, high: float, to_y: _Map) -> list[Markup]:
    scale = _multiple(series.y_unit, low, high)
    shapes = []
    for value in _ticks(low, high, scale.divisor):
        y = to_y(value)
        shapes.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        shapes.append(_text(_tick_text(value / scale.divisor), _LEFT - 6, y + 4, "end"))
    title = _axis_title(series.y_title, scale.label)
    middle = _TOP + _INNER_HEIGHT / 2
    turned = element(
        "text",
        shortened(title, 34),
        x=12,
        y=middle,
        class_="soft",
        text_anchor="middle",
        transform=f"rotate(-90 12 {number(middle)})",
    )
    return [*shapes, turned]


def _x_axis(series: Series, low: float, high: float, to_x: _Map) -> list[Markup]:
    scale = _multiple(series.x_unit, low, high)
    shapes = [
        _text(_tick_text(value / scale.divisor), to_x(value), HEIGHT - 22, "middle")
        for value in _ticks(low, high, scale.divisor)
    ]
    title = _axis_title(series.x_title, scale.label)
    return [*shapes, _text(title, _LEFT + _INNER_WIDTH / 2, HEIGHT - 4, "middle", "soft")]


def _multiple(unit: Unit | None, low: float, high: float) -> Multiple:
    return multiple_for(unit, max(abs(low), abs(high)))


def _ticks(low: float, high: float, divisor: float) -> list[float]:
    """Round values between ``low`` and ``high``, round in multiples of ``divisor``."""
    span = (high - low) / divisor
    if not span > 0 or not math.isfinite(span):
        return [low]
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * 5 >= span)
    first = math.ceil(low / divisor / step - 1e-9)
    count = math.floor(high / divisor / step + 1e-9) - first
    return [(first + at) * step * divisor for at in range(count + 1)]


def _tick_text(value: float) -> str:
    return f"{value:,.6g}"


def _axis_title(title: str, unit: str) -> str:
    return f"{title} [{unit}]" if unit else title


def _text(
    value: str, x: float | str, y: float, anchor: str = "middle", class_: str | None = None
) -> Markup:
    return element("text", value, x=x, y=y, text_anchor=anchor, class_=class_)
