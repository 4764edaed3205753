"""What the one screen says of a recording."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from torch_tb_profiler.reports.cells import display_columns
from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.notes import in_reading_order, note_text, title_text
from torch_tb_profiler.reports.step_bar import StepBar, step_bar
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.schema import Fact, Note, Table

FINDINGS = 3
ROWS = 5

_TOPS = {
    "top_operators": (("device_self_us", "device_self_pct"), ("host_self_us", "host_self_pct")),
    "top_kernels": (("total_us", "total_pct"),),
}
"""Table → the columns of its time and of its share; the first pair with values is shown."""


class TopTable(Struct, frozen=True):
    """The rows of a table with the most time.

    Attributes:
        title: Title of the table.
        headers: Of each column, the name first.
        rows: Cells as text, as many as there are headers.
    """

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Brief(Struct, frozen=True):
    """One recording on one screen.

    Attributes:
        heading: Run, worker, span, selection.
        answer: The verdict; None without one.
        bar: The step by category; None where it is not known.
        findings: Title and text of the first :data:`FINDINGS`.
        more_findings: How many others there are.
        tops: What takes the most time.
        warnings: What makes numbers doubtful.
        missing: Figures that the recording has no data for.
    """

    heading: str
    answer: str | None
    bar: StepBar | None
    findings: tuple[tuple[str, str], ...]
    more_findings: int
    tops: tuple[TopTable, ...]
    warnings: tuple[str, ...]
    missing: int


def brief_of(result: ViewResult) -> Brief:
    """The screen for an answer of the overview."""
    view = result.view
    advice = [note for note in in_reading_order(view.notes) if note.kind == "advice"]
    tops = [_top(table, _TOPS[name]) for name, table in view.tables.items() if name in _TOPS]
    return Brief(
        heading=heading_of(result),
        answer=view.answer,
        bar=step_bar(view),
        findings=tuple((title_text(note) or "", note_text(note)) for note in advice[:FINDINGS]),
        more_findings=max(0, len(advice) - FINDINGS),
        tops=tuple(top for top in tops if top is not None),
        warnings=tuple(map(note_text, filter(_is_doubt, view.notes))),
        missing=sum(not is_known(fact) for fact in view.facts),
    )


def is_known(fact: Fact) -> bool:
    """Whether a figure has a value."""
    return fact.value is not None and fact.value == fact.value


def missing_text(count: int) -> str:
    """How many figures the recording has no data for."""
    figures = "1 figure needs" if count == 1 else f"{count} figures need"
    return f"{figures} data this recording lacks"


def _is_doubt(note: Note) -> bool:
    return note.kind == "quality" and note.severity == "warning"


def _top(table: Table, pairs: Sequence[tuple[str, str]]) -> TopTable | None:
    """The first rows with name, calls, time and share; None where no time is known."""
    if not table.frame.height:
        return None
    columns = {column.key: column for column in display_columns(table)}
    for time, share in pairs:
        if time in columns and columns[time].has_values:
            keys = [key for key in ("name", time, share, "calls") if key in columns]
            shown = [columns[key] for key in keys]
            headers = tuple(f"{c.title} [{c.unit}]" if c.unit else c.title for c in shown)
            rows = zip(*(column.cells[:ROWS] for column in shown), strict=True)
            return TopTable(table.spec.title, headers, tuple(rows))
    return None
