"""Charts as SVG: to scale, within their picture, and small whatever the series is."""

from __future__ import annotations

import re

from torch_tb_profiler.reports.html.charts import HEIGHT, MAX_POINTS, WIDTH, chart, stacked_bar
from torch_tb_profiler.reports.step_bar import StepBar, StepPart
from torch_tb_profiler.views.schema import Line, Series

_RECT = re.compile(
    r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="([^"]+)"'
)


def _series(kind: str, *lines: Line) -> Series:
    return Series("Title", kind, "Step", None, "Time", "us", lines)  # type: ignore[arg-type]


def _rects(markup: str) -> list[tuple[float, float, float, float]]:
    return [tuple(map(float, each[:4])) for each in _RECT.findall(markup)]  # type: ignore[misc]


def test_stacked_bars_are_to_scale_and_stand_on_each_other() -> None:
    kernel, other = Line("Kernel", [1, 2], [3000.0, 1000.0]), Line("Other", [1, 2], [1000.0, None])
    drawn = chart(_series("stacked_bar", kernel, other))
    assert drawn is not None
    (x1, y1, w1, h1), (x2, y2, w2, h2), (_, _, _, h3) = _rects(drawn)
    assert (x1, w1) == (x2, w2)
    assert abs(h1 / h2 - 3) < 0.01
    assert abs(h1 / h3 - 3) < 0.01
    assert abs(y2 + h2 - y1) < 0.11
    assert "Time [ms]" in drawn


def test_a_line_of_many_points_keeps_its_extremes_and_its_gaps() -> None:
    ys: list[float | None] = [1.0] * 100_000
    ys[54_321], ys[77_777] = 9.0, 0.0
    for at in range(20_000, 30_000):
        ys[at] = None
    drawn = chart(_series("line", Line("a", [float(x) for x in range(100_000)], ys)))
    assert drawn is not None
    (path,) = re.findall(r'<path d="([^"]+)"', drawn)
    points = [tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", path)]
    assert len(points) <= MAX_POINTS + 2
    assert path.count("M") == 2
    heights = [y for _, y in points]
    assert min(heights) == 8
    assert max(heights) == HEIGHT - 36
    assert all(0 <= x <= WIDTH for x, _ in points)


def test_a_series_without_values_is_no_chart_and_zeros_are_no_bars() -> None:
    assert chart(_series("line", Line("a", [1], [None]))) is None
    assert chart(_series("bar", Line("a", [1], [0.0]))) is None
    assert chart(_series("line", Line("a", [1], [0.0]))) is not None
    assert chart(_series("line", Line("a", [float("nan")], [float("inf")]))) is not None


def test_the_parts_of_a_bar_fill_the_share_that_it_takes() -> None:
    parts = (StepPart("Kernel", 75.0, 75.0, "75 µs"), StepPart("Other", 25.0, 25.0, "25 µs"))
    drawn = stacked_bar(StepBar("Step: 100 µs", parts), 0.5)
    assert re.findall(r'<svg x="([\d.]+)%" width="([\d.]+)%"', drawn) == [
        ("0.00", "37.50"),
        ("37.50", "12.50"),
    ]
    assert "Other 25 µs" in drawn
    assert "viewBox" not in drawn  # it would shrink the labels with the window
    assert "bracket" not in drawn


def test_a_bar_has_its_idle_part_bracketed_and_the_longest_gap() -> None:
    parts = (StepPart("Kernel", 75.0, 75.0, "75 µs"), StepPart("Other", 25.0, 25.0, "25 µs"))
    drawn = stacked_bar(StepBar("Step", parts, (25.0, "GPU idle 25.0 %"), "Longest gap: 20 µs"))
    assert '<line x1="75.00%" x2="100%"' in drawn
    assert ">GPU idle 25.0 %</text>" in drawn
    assert "<p>Longest gap: 20 µs</p>" in drawn
