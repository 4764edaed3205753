"""File problems as the first findings, because all other numbers cover only what could be read.

Which quality notes are such problems is data (``knowledge/damage.toml``).
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from torch_tb_profiler.evidence.finding import plain_evidence
from torch_tb_profiler.evidence.tables import build_table
from torch_tb_profiler.knowledge.damage import Damage, damages
from torch_tb_profiler.views.schema import Column, Note, TableSpec

EVIDENCE = TableSpec(
    "damage",
    "File problems",
    "One row per kind of problem.",
    (
        Column("issue", "Problem", "string", None, "What is damaged, and how it was handled."),
        Column("count", "Cases", "integer", "count", "Number of cases."),
        Column("example", "Example", "string", None, "The first case, as the file has it."),
    ),
)
REASONS = {"count": "Not counted.", "example": "No text of the file is quoted."}
CODES = (
    "events_left_out", "incomplete_run", "damaged_recording", "damaged_times", "beyond_limits"
)  # fmt: skip
"""Codes of the notes."""


def damage_notes(notes: Sequence[Note]) -> tuple[Note, ...]:
    """The quality ``notes`` of a view that are file problems, as findings without a gain.

    They remain quality notes as well.
    """
    quality = [note for note in notes if note.kind == "quality"]
    issues = [
        (damage, [note for note in quality if note.code in damage.issues]) for damage in damages()
    ]
    return tuple(_note(damage, notes) for damage, notes in issues if notes)


def _note(damage: Damage, issues: list[Note]) -> Note:
    rows = [(note.text, _count(note), _example(note)) for note in issues]
    frame = pl.DataFrame(rows, schema=EVIDENCE.polars_schema(), orient="row")
    table = build_table(EVIDENCE, frame, REASONS)
    text = damage.text.format(issues=" ".join(_sentence(note) for note in issues))
    return Note("advice", damage.code, "warning", text, plain_evidence(damage.title, table))


def _sentence(note: Note) -> str:
    """The text of a note, with its count if that is above 1 and not part of the text."""
    count = _count(note)
    if count is None or count < 2 or f"{count:,}" in note.text:
        return note.text
    return f"{note.text.removesuffix('.')} ({count:,} times)."


def _count(note: Note) -> int | None:
    count = note.evidence.get("count")
    return count if isinstance(count, int) else None


def _example(note: Note) -> str | None:
    examples = note.evidence.get("examples")
    return str(examples[0]) if isinstance(examples, list) and examples else None
