"""The report of all detectors: the findings, and every check with its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import polars as pl
from msgspec import Struct

from torch_tb_profiler.evidence.tables import localize
from torch_tb_profiler.knowledge.advice import AdviceEntry, entry
from torch_tb_profiler.knowledge.device_terms import DeviceTerms
from torch_tb_profiler.views.checks import CHECKED, INCONCLUSIVE, ISSUE, PASSED
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Note, Table

_UNITS = {"pct": " %", "ratio": "", "count": ""}
"""Unit of a threshold → suffix of its number."""

NO_STEP_TIME = "The selection contains no step time."
NO_FINDING = "Shown only for issues listed as separate findings."
_ORDER = (ISSUE, INCONCLUSIVE, PASSED)


class AdviceReport(Struct, frozen=True):
    """The results of the detectors for a selection.

    Attributes:
        notes: The findings, the largest estimated gain first.
        checks: Every detector with its outcome.
    """

    notes: tuple[Note, ...]
    checks: Table


def checks_table(
    codes: Iterable[str],
    notes: Iterable[Note],
    unmet_need: Callable[[AdviceEntry], str | None],
    terms: DeviceTerms | None = None,
) -> Table:
    """The outcome of every check, issues first.

    Args:
        codes: The codes of the checks.
        notes: The findings.
        unmet_need: For an entry, why the recording has not enough data; None if it has.
        terms: The terms of the devices.
    """
    note_by_code = _notes_by_code(notes)
    rows = [_row(entry(code), note_by_code.get(code), unmet_need, terms) for code in codes]
    rows.sort(key=lambda row: _ORDER.index(str(row[1])))
    frame = pl.DataFrame(rows, schema=CHECKED.polars_schema(), orient="row")
    return Table(CHECKED, frame, needed(frame, {"measured": NO_FINDING}))


def _row(
    known: AdviceEntry,
    note: Note | None,
    unmet_need: Callable[[AdviceEntry], str | None],
    terms: DeviceTerms | None,
) -> tuple[str | None, ...]:
    outcome, reason, measured = PASSED, None, None
    if note is not None:
        outcome = ISSUE
        if note.code == known.code:
            measured = _quantity_text(note.evidence.get("measured"), known.unit)
        else:
            reason = f"See “{note.evidence['title']}”."
    elif (missing := unmet_need(known)) is not None:
        outcome, reason = INCONCLUSIVE, localize(missing, terms)
    threshold = _quantity_text(known.threshold, known.unit)
    return localize(known.title, terms), outcome, reason, measured, threshold, known.code


def _notes_by_code(notes: Iterable[Note]) -> dict[str, Note]:
    """Code of a finding → its note, or the note that lists it as the same time."""
    note_by_code: dict[str, Note] = {}
    for note in notes:
        same_time = note.evidence.get("same_time")
        for other in same_time if isinstance(same_time, list) else []:
            note_by_code.setdefault(str(other["code"]), note)
        note_by_code[note.code] = note
    return note_by_code


def _quantity_text(value: object, unit: str) -> str | None:
    """A measured value or threshold with its unit: ``"33.4 %"``, ``"2.1"``."""
    return f"{value:,.4g}{_UNITS[unit]}" if isinstance(value, (int, float)) else None
