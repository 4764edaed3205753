"""The step by category, to scale: what the terminal, Markdown and the HTML report draw as a bar."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Table, View

TABLE = "average_step"
"""The table of the overview with the parts of the average step."""


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


def step_bar(view: View) -> StepBar | None:
    """The bar of a view that has the average step with its parts; None where they are not known."""
    table = view.tables.get(TABLE)
    if table is None:
        return None
    parts = _parts(table)
    if not parts:
        return None
    total_us = sum(part.duration_us for part in parts)
    return StepBar(f"{table.spec.title}: {duration_text(total_us)}", parts)


def _parts(table: Table) -> tuple[StepPart, ...]:
    frame = table.frame
    if not {"category", "duration_us", "pct"} <= set(frame.columns):
        return ()
    rows = zip(frame["category"], frame["duration_us"], frame["pct"], strict=True)
    return tuple(
        StepPart(name, duration_us, pct, f"{duration_text(duration_us)}, {pct:.1f} %")
        for name, duration_us, pct in rows
        if duration_us and pct
    )
