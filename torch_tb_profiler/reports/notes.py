"""The notes of a view as people read them: findings first, each with title, gain and what else
means the same time."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.reports.cells import scale_for
from torch_tb_profiler.views.schema import Note, Unit


def in_reading_order(notes: Sequence[Note]) -> list[Note]:
    """Findings in the order in which they are ranked, then what limits the numbers."""
    return sorted(notes, key=lambda note: note.kind != "advice")


def note_text(note: Note) -> str:
    """What it says, a finding with its title and its estimated gain."""
    title = note.evidence.get("title")
    start = f"{title}. " if isinstance(title, str) else ""
    return f"{start}{note.text}{_gain(note)}"


def same_time_texts(note: Note) -> list[str]:
    """What was found besides that means the same time."""
    others = note.evidence.get("same_time")
    return [
        f"Also of this time: {other['title']}. {other['text']}"
        for other in (others if isinstance(others, list) else [])
    ]


def _gain(note: Note) -> str:
    gain_us = note.evidence.get("estimated_gain_us_per_step")
    if not isinstance(gain_us, (int, float)) or gain_us <= 0:
        return ""
    share = note.evidence.get("estimated_gain_pct_of_step")
    of_step = f" ({_quantity(share, 'pct')} of it)" if isinstance(share, (int, float)) else ""
    return f" Est. gain: {_quantity(gain_us, 'us')} per step{of_step}."


def _quantity(value: float, unit: Unit) -> str:
    scale = scale_for(unit, value, False)
    return f"{scale.text(value)} {scale.label}"
