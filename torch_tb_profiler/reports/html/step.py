"""The step of a view as a picture: one bar, or one for each side of a comparison."""

from __future__ import annotations

from torch_tb_profiler.reports.html.charts import stacked_bar
from torch_tb_profiler.reports.html.markup import Markup
from torch_tb_profiler.reports.step_bar import compared_bars, step_bar
from torch_tb_profiler.views.schema import View


def step_pictures(view: View) -> list[Markup]:
    """The bars to one scale; none where the parts of the step are not known."""
    own = step_bar(view)
    bars = compared_bars(view) if own is None else [own]
    longest_us = max((bar.duration_us for bar in bars), default=0.0)
    return [stacked_bar(bar, bar.duration_us / longest_us) for bar in bars]
