"""The notes of a view as people read them: findings first, each with its number, title, gain and
what else means the same time; then what limits the numbers, how often and where."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_tb_profiler.knowledge.documentation import finding_address
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

EXAMPLES = 3
"""Of what a limit of the numbers is about."""

RULE_OF_THUMB = "rule of thumb"
"""Part of the texts of findings that state their threshold."""


def in_reading_order(notes: Sequence[Note]) -> list[Note]:
    """Findings in the order in which they are ranked, then what limits the numbers."""
    return sorted(notes, key=lambda note: note.kind != "advice")


def title_text(note: Note) -> str | None:
    """The title of a finding with its estimated gain; None of what has none."""
    title = note.evidence.get("title")
    return f"{title}{_gain(note)}" if isinstance(title, str) else None


def note_text(note: Note) -> str:
    """What it says; a limit of the numbers with how often and where, as far as its text does not
    tell that itself."""
    count, examples = note.evidence.get("count"), note.evidence.get("examples")
    parts = []
    if isinstance(count, int) and count != 1 and not _mentions(note.text, count):
        parts.append(f"{count:,} times")
    if isinstance(examples, list) and examples:
        parts.append(f"for example {', '.join(map(_example_text, examples[:EXAMPLES]))}")
    return f"{note.text} ({'; '.join(parts)})" if parts and note.kind == "quality" else note.text


def _mentions(text: str, count: int) -> bool:
    """Whether a number stands in ``text``, however its digits are grouped."""
    return str(count) in re.findall(r"\d+", re.sub(r"(?<=\d)[\s,](?=\d{3}(?!\d))", "", text))


def _example_text(example: object) -> str:
    return example if isinstance(example, str) else encode(example).decode()


def measured_text(note: Note) -> str | None:
    """What a finding measured, and its threshold unless that is 0, if its text does not state the
    threshold; and why its gain is small or missing. None for neither."""
    reason = note.evidence.get("gain_reason")
    texts = (_measured(note), reason if isinstance(reason, str) else None)
    return " ".join(text for text in texts if text is not None) or None


def _measured(note: Note) -> str | None:
    measured, threshold = note.evidence.get("measured"), note.evidence.get("threshold")
    if not isinstance(measured, int | float) or not isinstance(threshold, int | float):
        return None
    if RULE_OF_THUMB in note.text:
        return None
    label = " %" if note.evidence.get("unit") == "pct" else ""
    is_published = not note.evidence.get("threshold_is_ours")
    kind = "threshold" if is_published else RULE_OF_THUMB
    side = "above" if measured > threshold else "below"
    limit = f", {kind}: {side} {threshold:,g}{label}" if threshold else ""
    return f"Measured {round(measured, 1):,g}{label}{limit}."


def documentation_text(note: Note) -> str | None:
    """Where a finding is described; None for what the documentation does not describe."""
    address = finding_address(note.code) if note.kind == "advice" else None
    return None if address is None else f"More: {address}"


def same_time_texts(note: Note) -> list[str]:
    """The findings about the same time."""
    others = note.evidence.get("same_time")
    return [
        f"Same time, seen another way: {other['title']}. {other['text']}"
        for other in (others if isinstance(others, list) else [])
    ]


def _gain(note: Note) -> str:
    gain_us = note.evidence.get("estimated_gain_us_per_step")
    if not isinstance(gain_us, (int, float)) or gain_us <= 0:
        return ""
    share = note.evidence.get("estimated_gain_pct_of_step")
    of_step = f" ({share:.1f} % of it)" if isinstance(share, (int, float)) else ""
    return f": est. gain {duration_text(gain_us)} per step{of_step}"
