"""Damage of the recording, told before all advice: whoever reads only the first finding must not
miss that the numbers are of a part.

Which quality notes are damage is data (``knowledge/damage.toml``).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.evidence.tables import declaration, filled
from torch_tb_profiler.knowledge.damage import Damage, damages
from torch_tb_profiler.views.schema import Column, Note, TableSpec

EVIDENCE = TableSpec(
    "damage",
    "Damage",
    "One row per kind of damage.",
    (
        Column("issue", "Damage", "string", None, "What is damaged, and what was done about it."),
        Column("count", "Cases", "integer", "count", "How often."),
        Column("example", "Example", "string", None, "The first case, in words of the file."),
    ),
)
REASONS = {"count": "Not counted.", "example": "Nothing of the file is quoted."}
CODES = ("incomplete_run", "damaged_recording", "damaged_times")
"""What notes of it are named."""


def damage_notes(notes: Sequence[Note]) -> tuple[Note, ...]:
    """What of the quality ``notes`` of a view is damage, as findings; none for a whole recording.

    They are advice without a gain, for nothing measured crossed a threshold, and stay quality
    notes beside.
    """
    quality = [note for note in notes if note.kind == "quality"]
    found = [
        (damage, [note for note in quality if note.code in damage.issues]) for damage in damages()
    ]
    return tuple(_note(damage, issues) for damage, issues in found if issues)


def _note(damage: Damage, issues: list[Note]) -> Note:
    rows = [(note.text, _count(note), _example(note)) for note in issues]
    frame = pl.DataFrame(rows, schema=EVIDENCE.polars_schema(), orient="row")
    table = filled(EVIDENCE, frame, REASONS)
    evidence: dict[str, object] = {
        "title": damage.title,
        "measured": None,
        "unit": None,
        "threshold": None,
        "estimated_gain_us_per_step": None,
        "estimated_gain_pct_of_step": None,
        "architecture": None,
        "table": declaration(table),
        "rows": table.frame.to_dicts(),
        "source": {},
        "timeline": None,
        "same_time": [],
        "links": [],
    }
    text = damage.text.format(issues=" ".join(_sentence(note) for note in issues))
    return Note("advice", damage.code, "warning", text, evidence)


def _sentence(note: Note) -> str:
    """Its text, with how often where that is more than once and the text does not tell."""
    count = _count(note)
    if count is None or count < 2:
        return note.text
    return f"{note.text.removesuffix('.')} ({count:,} times)."


def _count(note: Note) -> int | None:
    count = note.evidence.get("count")
    return count if isinstance(count, int) else None


def _example(note: Note) -> str | None:
    examples = note.evidence.get("examples")
    return str(examples[0]) if isinstance(examples, list) and examples else None
