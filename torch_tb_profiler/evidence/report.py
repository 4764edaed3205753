"""What was looked for: every detector with its outcome, so that silence has a meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from torch_tb_profiler.knowledge.advice import AdviceEntry, entry
from torch_tb_profiler.views.checks import CHECKED, INCONCLUSIVE, ISSUE, PASSED
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Note, Table

_UNITS = {"pct": " %", "ratio": "", "count": ""}
"""Unit of a threshold → what stands behind its number."""

NO_STEP_TIME = "The selection contains no step time."
NO_FINDING = "Shown only for issues listed as separate findings."
_ORDER = (ISSUE, INCONCLUSIVE, PASSED)


@dataclass(frozen=True, slots=True)
class AdviceReport:
    """What the detectors report on a selection.

    Attributes:
        notes: The findings, the largest estimated gain first.
        checked: Every detector with its outcome.
    """

    notes: tuple[Note, ...]
    checked: Table


def checks_table(
    codes: Iterable[str], notes: Iterable[Note], unmet: Callable[[AdviceEntry], str | None]
) -> Table:
    """The outcome of every check, those that found something first.

    Args:
        codes: What was looked for.
        notes: What was found.
        unmet: For an entry, why the recording cannot tell; None where it can.
    """
    told = _told(notes)
    rows = [_row(entry(code), told, unmet) for code in codes]
    rows.sort(key=lambda row: _ORDER.index(str(row[1])))
    frame = pl.DataFrame(rows, schema=CHECKED.polars_schema(), orient="row")
    return Table(CHECKED, frame, needed(frame, {"measured": NO_FINDING}))


def _row(
    known: AdviceEntry, told: Mapping[str, Note], unmet: Callable[[AdviceEntry], str | None]
) -> tuple[str | None, ...]:
    outcome, reason, measured = PASSED, None, None
    note = told.get(known.code)
    if note is not None:
        outcome = ISSUE
        if note.code == known.code:
            measured = quantity(note.evidence.get("measured"), known.unit)
        else:
            reason = f"See “{note.evidence['title']}”."
    elif (missing := unmet(known)) is not None:
        outcome, reason = INCONCLUSIVE, missing
    return known.title, outcome, reason, measured, quantity(known.threshold, known.unit), known.code


def _told(notes: Iterable[Note]) -> dict[str, Note]:
    """Code of a finding → the note that tells it, its own or that of a larger one."""
    told: dict[str, Note] = {}
    for note in notes:
        same_time = note.evidence.get("same_time")
        for other in same_time if isinstance(same_time, list) else []:
            told.setdefault(str(other["code"]), note)
        told[note.code] = note
    return told


def quantity(value: object, unit: str) -> str | None:
    """A measured value or threshold with its unit: ``"33.4 %"``, ``"2.1"``."""
    return f"{value:,.4g}{_UNITS[unit]}" if isinstance(value, (int, float)) else None
