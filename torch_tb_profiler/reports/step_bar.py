"""The step by category, to scale: what the terminal, Markdown and the HTML report draw as a bar."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Table, View

TABLE = "average_step"
"""The table of the overview with the parts of the average step."""

TOTAL = "Total"
"""The row of a comparison that is no part."""


class StepPart(Struct, frozen=True):
    """A category of the step.

    Attributes:
        name: Its name.
        duration_us: Its time per step.
        pct: Its share of the step.
        text: Duration and share for people.
    """

    name: str
    duration_us: float
    pct: float
    text: str


class StepBar(Struct, frozen=True):
    """The step: what it is with its length, and its parts, none of them empty."""

    title: str
    parts: tuple[StepPart, ...]

    @property
    def duration_us(self) -> float:
        """All parts together."""
        return sum(part.duration_us for part in self.parts)


def step_bar(view: View) -> StepBar | None:
    """The bar of a view that has the average step with its parts; None where they are not known."""
    table = view.tables.get(TABLE)
    return None if table is None else _bar(table, "duration_us", table.spec.title)


def compared_bars(view: View) -> list[StepBar]:
    """The bars of both sides of a comparison, as far as they are known."""
    table = view.tables.get(TABLE)
    if table is None:
        return []
    sides = {"baseline_duration_us": "Baseline", "candidate_duration_us": "Candidate"}
    bars = (_bar(table, key, title) for key, title in sides.items())
    return [bar for bar in bars if bar is not None]


def _bar(table: Table, key: str, title: str) -> StepBar | None:
    frame = table.frame
    if not {"category", key} <= set(frame.columns):
        return None
    rows = [
        (name, duration_us)
        for name, duration_us in zip(frame["category"], frame[key], strict=True)
        if duration_us and name != TOTAL
    ]
    total_us = sum(duration_us for _, duration_us in rows)
    if not total_us > 0:
        return None
    parts = []
    for name, duration_us in rows:
        pct = duration_us / total_us * 100
        parts.append(StepPart(name, duration_us, pct, f"{duration_text(duration_us)}, {pct:.1f} %"))
    return StepBar(f"{title}: {duration_text(total_us)}", tuple(parts))
