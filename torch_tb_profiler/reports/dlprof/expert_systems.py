"""``expert_systems``: a row per problem that was found."""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.reports.dlprof.table import Report, ReportTable, Views
from torch_tb_profiler.views.schema import Note

SOURCE = "overview"
_SENTENCE_END = re.compile(r"\. (?=[A-Z])")


def expert_systems(views: Views) -> Report:
    """The report, in the order of the findings: worst first."""
    findings = [note for note in views[SOURCE].notes if note.kind == "advice"]
    rows = [_row(note) for note in findings]
    frame = pl.DataFrame(rows, schema=["Problem", "Recommendation"], orient="row")
    return Report("expert_systems", (ReportTable(None, frame.cast(pl.String)),))


def _row(note: Note) -> tuple[str, str]:
    """What is wrong is the first sentence of a finding, what to do the rest."""
    problem, *rest = _SENTENCE_END.split(note.text, maxsplit=1)
    return f"{note.evidence.get('title')}: {problem}", rest[0] if rest else ""
