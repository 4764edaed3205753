"""``compare --summary``: what a reviewer reads, appended to a file of Markdown.

It is for the page of a CI run (``$GITHUB_STEP_SUMMARY``) and for a comment: how the gates ended,
the verdict, warnings, the average step, and folded what changed most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.cli.exits import BAD_USAGE, DONE, GATE_FAILED
from torch_tb_profiler.reports.cells import display_columns
from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.markdown import escaped, grid, paragraph
from torch_tb_profiler.reports.notes import note_text
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import query
from torch_tb_profiler.views.schema import Table

if TYPE_CHECKING:
    from torch_tb_profiler.cli.gate_checks import GateChecks

_TITLES = {DONE: "passed", GATE_FAILED: "failed", BAD_USAGE: "not checked"}
_OF_NAMES = "paired_with"
"""A column of the tables whose rows are matched by name: operators and kernels."""
_MEASURES = ("duration", "device_self", "host_self", "total", "calls")
"""Measures that are shown: of both sides, with their difference."""
_ROWS = 10


def append_summary(path: str, result: ViewResult, gates: GateChecks) -> None:
    """Append the summary of a comparison to a file.

    Raises:
        RequestError: it cannot be written.
    """
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(summary(result, gates))
    except OSError as error:
        message = f"The summary cannot be written to {path}: {error.strerror}."
        hint = "Name a file in a folder that exists with --summary."
        raise RequestError("bad_parameter", message, hint) from error


def summary(result: ViewResult, gates: GateChecks) -> str:
    """The summary as Markdown."""
    view = result.view
    title = f"Performance: {_TITLES[gates.code]}" if gates.lines else "Performance"
    parts = [f"### {title}", f"Compared: {escaped(heading_of(result))}"]
    if gates.lines:
        parts.append("\n".join(f"- {escaped(line)}" for line in gates.lines))
    if gates.repeated is not None:
        parts.append(paragraph(f"{gates.repeated[:1].upper()}{gates.repeated[1:]}."))
    if view.answer is not None:
        parts.append(paragraph(view.answer))
    warnings = [note for note in view.notes if note.severity == "warning"]
    if warnings:
        parts.append("\n".join(f"- **Warning**: {escaped(note_text(note))}" for note in warnings))
    step = view.tables["average_step"]
    spent = pl.max_horizontal("baseline_duration_us", "candidate_duration_us") > 0
    parts.append(_grid(replace(step, frame=step.frame.filter(spent))))
    for table in view.tables.values():
        if table.frame.height and _OF_NAMES in table.frame.columns:
            title, rows = escaped(table.spec.title), _grid(query(table, limit=_ROWS))
            summary_of = f"<summary>{title} that changed most</summary>"
            parts.append(f"<details>{summary_of}\n\n{rows}\n</details>")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _grid(table: Table) -> str:
    """The name of each row, and its measures of both sides with their difference."""
    shown = [
        column
        for column in display_columns(table, "short", None)
        if column.has_values and _is_shown(column.key)
    ]
    headers = [f"{each.title} [{each.unit}]" if each.unit else each.title for each in shown]
    rows = list(zip(*(column.cells for column in shown), strict=True))
    return grid(headers, [column.is_number for column in shown], rows)


def _is_shown(key: str) -> bool:
    side, _, measure = key.partition("_")
    if side in ("baseline", "candidate", "delta"):
        return measure.removesuffix("_us").removesuffix("_pct") in _MEASURES
    return key in ("name", "category")
