"""A view as Markdown (GitHub flavour), for issues, pull requests and agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_tb_profiler.reports.cells import chosen, display_columns, fact_text
from torch_tb_profiler.reports.notes import in_reading_order, note_text, same_time_texts
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.views.schema import Note, Table, View
from torch_tb_profiler.views.spec import ViewSpec

_MARKUP = re.compile(r"([\\`*_\[\]|~])")
_HTML = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


def dumps(spec: ViewSpec, view: View, heading: str, columns: Sequence[str] | None = None) -> str:
    """The view with a heading, its facts, notes and tables.

    Args:
        spec: The declaration of the view.
        view: What it answered.
        heading: What it is about: run, worker, span, selection.
        columns: Keys of the columns to show, None for all that have values.
    """
    parts = [f"## {escaped(spec.title)}: {escaped(heading)}\n"]
    if view.notes:
        parts.append("".join(map(_note, in_reading_order(view.notes))))
    if view.facts:
        parts.append(_facts(view))
    parts += [_table(table, columns) for table in view.tables.values()]
    return "\n".join(parts)


def escaped(text: str) -> str:
    """``text`` with no character that Markdown, HTML or a terminal would act on."""
    return _MARKUP.sub(r"\\\1", visible(text)).translate(_HTML)


def _note(note: Note) -> str:
    others = "".join(f"  - {escaped(text)}\n" for text in same_time_texts(note))
    return f"- **{note.severity}**: {escaped(note_text(note))}\n{others}"


def _facts(view: View) -> str:
    rows = [(fact.title, fact.scope or "", fact_text(fact)) for fact in view.facts]
    return _grid(["", "of", "value"], [False, False, True], rows)


def _table(table: Table, keys: Sequence[str] | None) -> str:
    shown = chosen(display_columns(table), keys)
    if keys is None and table.frame.height:
        shown = [column for column in shown if column.has_values]
    headers = [f"{c.title} [{c.unit}]" if c.unit else c.title for c in shown]
    rows = list(zip(*(column.cells for column in shown), strict=True))
    title = f"### {escaped(table.spec.title)}\n\n"
    total = table.frame.height if table.row_count is None else table.row_count
    if total == 0:
        return title + "No rows.\n"
    left = total - table.frame.height
    more = f"\n{table.frame.height} of {total} rows.\n" if left > 0 else ""
    return title + _grid(headers, [column.is_number for column in shown], rows) + more


def _grid(headers: Sequence[str], right: Sequence[bool], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, *rows]
    text = ["| " + " | ".join(escaped(cell) for cell in line) + " |\n" for line in lines]
    rule = "|" + "|".join("---:" if is_right else "---" for is_right in right) + "|\n"
    return text[0] + rule + "".join(text[1:])
