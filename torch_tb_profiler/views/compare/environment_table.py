"""The environment of two recordings as a table, notes, and the reason against a verdict on times.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.knowledge.surroundings import EnvironmentAspect
from torch_tb_profiler.views.compare import recorded
from torch_tb_profiler.views.compare.recorded import Setting
from torch_tb_profiler.views.schema import Column, Note, Table, TableSpec

SIDES = ("baseline", "candidate")

SURROUNDINGS = TableSpec(
    "surroundings",
    "Environment",
    "One row per property of the environment, differences first. If a row with severity warning "
    "differs, time differences may not come from the code, so no confidence is given.",
    (
        Column("what", "What", "string", None, "Property of the environment."),
        Column("baseline", "Baseline", "string", None, "Value of the baseline."),
        Column("candidate", "Candidate", "string", None, "Value of the candidate."),
        Column("same", "Same", "boolean", None, "Whether both values are equal; null: not known."),
        Column("reason", "Not Known", "string", None, "Why the comparison is not possible."),
        Column(
            "why", "Why It Matters", "string", None, "Effect of a difference on times.", hidden=True
        ),
        Column(
            "severity",
            "Severity",
            "string",
            None,
            "warning: times are not comparable; info: the difference may explain times.",
        ),
        Column("kind", "Kind", "string", None, "Key for --allow-different.", hidden=True),
    ),
)
NOT_KNOWN = "not known"


class Compared(Struct, frozen=True):
    """One aspect of both sides.

    Attributes:
        aspect: Which.
        baseline, candidate: What each says.
        same: Whether they say the same; None where it is not known.
        reason: Why ``same`` is None.
        severity: ``warning`` where times cannot be compared for it, ``info`` where it is told.
    """

    aspect: EnvironmentAspect
    baseline: Setting
    candidate: Setting
    same: bool | None
    reason: str | None
    severity: str | None

    @property
    def forbids(self) -> bool:
        """Whether it makes times incomparable."""
        return self.severity == "warning"


class Verdict(Struct, frozen=True):
    """What both sides say of an aspect; ``matters``: whether a difference is large enough, and
    ``regardless``: whether it forbids to compare times though both say the same."""

    baseline: Setting
    candidate: Setting
    same: bool | None
    reason: str | None = None
    matters: bool = True
    regardless: bool = False


def compared_aspect(aspect: EnvironmentAspect, verdict: Verdict) -> Compared:
    """What both sides say of an aspect, and what a difference of it means."""
    severity = None
    if verdict.regardless or (verdict.same is False and verdict.matters):
        severity = {"times": "warning", "noted": "info", "shown": None}[aspect.effect]
    return Compared(
        aspect, verdict.baseline, verdict.candidate, verdict.same, verdict.reason, severity
    )


def by_text(baseline: Setting, candidate: Setting, *, matters: bool = True) -> Verdict:
    """The verdict on both sides by what they say; not known where one says nothing."""
    if baseline.text is not None and candidate.text is not None:
        same = baseline.text == candidate.text
        return Verdict(baseline, candidate, same, None, matters)
    return Verdict(baseline, candidate, None, reasons(baseline, candidate))


def reasons(baseline: Setting, candidate: Setting) -> str:
    """Why it is not known whether both sides say the same."""
    if baseline.text is candidate.text is None and baseline.reason == candidate.reason:
        return f"Both sides: {_ended(baseline.reason)}"
    sides = zip(("Baseline", "Candidate"), (baseline, candidate), strict=True)
    return " ".join(f"{title}: {_ended(side.reason)}" for title, side in sides if side.reason)


def _ended(reason: str | None) -> str:
    return f"{(reason or recorded.NOT_RECORDED).rstrip('.')}."


def surroundings_table(rows: tuple[Compared, ...]) -> Table:
    """The table of surroundings: what forbids to compare times, what differs, what is not known,
    what is the same."""
    rank = {False: 2, None: 3, True: 4}
    ordered = sorted(rows, key=lambda row: 1 if row.severity == "warning" else rank[row.same])
    frame = pl.DataFrame(
        [
            (
                row.aspect.title,
                row.baseline.text,
                row.candidate.text,
                row.same,
                row.reason,
                row.aspect.why,
                row.severity,
                row.aspect.kind,
            )
            for row in ordered
        ],
        schema=SURROUNDINGS.polars_schema(),
        orient="row",
    )
    unknown = "Not recorded, or not enough data; the column Not Known gives the reason."
    columns = [key for key in (*SIDES, "same") if frame[key].null_count()]
    return Table(SURROUNDINGS, frame, dict.fromkeys(columns, unknown))


def surroundings_notes(rows: tuple[Compared, ...]) -> tuple[Note, ...]:
    """What is said of differences, those that forbid to compare times first.

    File problems are reported by the notes of the recordings' quality already.
    """
    notes = [
        Note(
            "quality",
            f"other_{row.aspect.kind}",
            "warning" if row.forbids else "info",
            row.aspect.text.format(baseline=_shown(row.baseline), candidate=_shown(row.candidate)),
            {
                "kind": row.aspect.kind,
                "baseline": row.baseline.text,
                "candidate": row.candidate.text,
            },
        )
        for row in rows
        if row.severity is not None and row.aspect.kind != "quality"
    ]
    return tuple(sorted(notes, key=lambda note: note.severity != "warning"))


def no_confidence(rows: tuple[Compared, ...]) -> str | None:
    """Why no confidence is given, naming what differs; None where times can be compared."""
    differing = [
        f"{row.aspect.title} ({_shown(row.baseline)} against {_shown(row.candidate)})"
        for row in rows
        if row.forbids
    ]
    if not differing:
        return None
    return (
        f"No confidence: the recordings differ in {'; '.join(differing)}, so time differences "
        "may not come from the code."
    )


def _shown(side: Setting) -> str:
    return side.text if side.text is not None else NOT_KNOWN
