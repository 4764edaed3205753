"""The step by category, to scale: what the terminal, Markdown and the HTML report draw as a bar."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Table, View

TABLE = "average_step"
"""The table of the overview with the parts of the average step."""

TOTAL = "Total"
"""The row of a comparison that is no part."""


_DEVICE_WORK = frozenset({"Kernel", "Memcpy", "Memset", "Communication"})
"""The categories of device work, which come first."""

_LEAST_IDLE_PCT = 8.0
"""The label does not fit into less."""


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
    """The step.

    Attributes:
        title: What it is, with its length.
        parts: Its parts, none of them empty.
        idle: The share without device work, which is at the end, with the word for the devices;
            None without devices, or where it is too short for a label.
        gap: The longest gap of the recording in words; None where there is none.
    """

    title: str
    parts: tuple[StepPart, ...]
    idle: tuple[float, str] | None = None
    gap: str | None = None

    @property
    def duration_us(self) -> float:
        """All parts together."""
        return sum(part.duration_us for part in self.parts)


def step_bar(view: View) -> StepBar | None:
    """The bar of a view that has the average step with its parts; None where they are not known."""
    table = view.tables.get(TABLE)
    bar = None if table is None else _bar(table, "duration_us", table.spec.title)
    return None if bar is None else replace(bar, idle=_idle(view, bar), gap=_gap(view))


def _idle(view: View, bar: StepBar) -> tuple[float, str] | None:
    gpus = view.tables.get("gpus")
    if gpus is None or not gpus.frame.height:
        return None
    idle_pct = 100.0 - sum(part.pct for part in bar.parts if part.name in _DEVICE_WORK)
    device = next((column.title for column in gpus.spec.columns if column.key == "gpu"), "GPU")
    return (idle_pct, f"{device} idle {idle_pct:.1f} %") if idle_pct >= _LEAST_IDLE_PCT else None


def _gap(view: View) -> str | None:
    table, steps = view.tables.get("longest_gap"), view.tables.get("steps")
    if table is None or not table.frame.height:
        return None
    row = table.frame.row(0, named=True)
    step = f" in step {row['step']}" if steps is not None and steps.frame.height > 1 else ""
    share = f"{row['category_pct']:.1f} % {row['category']}"
    return f"Longest gap: {duration_text(row['duration_us'])}{step}, {share}"


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
