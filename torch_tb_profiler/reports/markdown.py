"""A view as Markdown (GitHub flavour), for issues, pull requests and agents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_tb_profiler.reports.cells import (
    DisplayColumn,
    chosen,
    display_columns,
    fact_text,
    facts_in_order,
    with_columns,
)
from torch_tb_profiler.reports.notes import (
    in_reading_order,
    measured_text,
    note_text,
    same_time_texts,
    title_text,
)
from torch_tb_profiler.reports.text import visible
from torch_tb_profiler.views.name_columns import NameMode
from torch_tb_profiler.views.schema import Fact, Note, Table, View
from torch_tb_profiler.views.spec import ViewSpec

_WRITTEN = str.maketrans(
    {mark: f"\\{mark}" for mark in "\\`*_[]|~$"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
"""What is a mark wherever it stands → as text."""

_ADDRESSES = {"//": "\\/\\/", "www.": "www\\.", "mailto:": "mailto\\:", "xmpp:": "xmpp\\:"}
"""What becomes a link by itself → as text."""

_LINK_KEY = "url"
"""Of columns with public pages, which no trace names."""

_OWN_ADDRESS = re.compile(r"https://[\w./#?=%-]+")

_AT_START = re.compile(r"^(\d*)([#+=.)-])")
"""What makes a line a heading, an item or a rule, beside the marks of everywhere."""


def dumps(
    spec: ViewSpec,
    view: View,
    heading: str,
    columns: Sequence[str] | None = None,
    names: NameMode = "short",
    *,
    time_unit: str | None = None,
) -> str:
    """The view with a heading, its facts, notes and tables.

    Args:
        spec: The declaration of the view.
        view: What it answered.
        heading: What it is about: run, worker, span, selection.
        columns: Keys of the columns to show, None for all that have values.
        names: Which name of kernels is shown.
        time_unit: Unit of all times in tables, of ``cells.TIME_SCALES``; None: by their size.
    """
    parts = [f"## {escaped(spec.title)}: {escaped(heading)}\n"]
    if view.answer is not None:
        parts.append(f"{paragraph(view.answer)}\n")
    first, others = facts_in_order(spec, view.facts)
    if first:
        parts.append(_facts(first))
    if view.notes:
        notes = list(enumerate(in_reading_order(view.notes), start=1))
        for titled in (True, False):  # two lists: Markdown would take one for part of the other
            texts = [_note(*each) for each in notes if (title_text(each[1]) is not None) is titled]
            parts += ["".join(texts)] if texts else []
    if others:
        parts.append(_facts(others))
    tables = with_columns(view.tables.values(), columns)
    parts += [
        _table(table, columns, display_columns(table, names, time_unit))
        for table in tables
        if table.why_empty is None
    ]
    empty = [table for table in tables if table.why_empty is not None]
    parts += ["".join(map(_why_empty, empty))] if empty else []
    return "\n".join(parts)


def escaped(text: str) -> str:
    """``text`` with no character that Markdown, HTML or a terminal would act on."""
    written = visible(text).translate(_WRITTEN)
    for address, as_text in _ADDRESSES.items():
        written = written.replace(address, as_text)
    return written


def paragraph(text: str) -> str:
    """``text`` escaped where it starts a line."""
    return _AT_START.sub(r"\1\\\2", escaped(text).lstrip())


def _note(number: int, note: Note) -> str:
    title, text = title_text(note), escaped(note_text(note))
    if title is None:
        return f"- **{note.severity}**: {text}\n"
    besides = [text for text in (measured_text(note), *same_time_texts(note)) if text is not None]
    others = "".join(f"   - {escaped(text)}\n" for text in besides)
    return f"{number}. **{escaped(title)}**. {text}\n{others}"


def _why_empty(table: Table) -> str:
    return f"- {escaped(table.spec.title)}: no rows. {escaped(table.why_empty or '')}\n"


def _facts(facts: Sequence[Fact]) -> str:
    rows = [(fact.title, fact.scope or "", fact_text(fact)) for fact in facts]
    return grid(["", "of", "value"], [False, False, True], rows)


def _table(table: Table, keys: Sequence[str] | None, columns: Sequence[DisplayColumn]) -> str:
    shown = chosen(columns, keys)
    if keys is None and table.frame.height:
        shown = [column for column in shown if column.has_values]
    headers = [f"{c.title} [{c.unit}]" if c.unit else c.title for c in shown]
    rows = list(zip(*(column.cells for column in shown), strict=True))
    title = f"### {escaped(table.spec.title)}\n\n"
    total = table.frame.height if table.row_count is None else table.row_count
    left = total - table.frame.height
    more = f"\n{table.frame.height} of {total} rows.\n" if left > 0 else ""
    links = [at for at, column in enumerate(shown) if column.key == _LINK_KEY]
    return title + grid(headers, [column.is_number for column in shown], rows, links) + more


def grid(
    headers: Sequence[str],
    right: Sequence[bool],
    rows: Sequence[Sequence[str]],
    links: Sequence[int] = (),
) -> str:
    """A table; columns that ``right`` marks have numbers, those at ``links`` our own addresses."""
    cells = [[escaped(cell) for cell in line] for line in (headers, *rows)]
    for at in links:
        for row, written in zip(rows, cells[1:], strict=True):
            written[at] = f"<{row[at]}>" if _OWN_ADDRESS.fullmatch(row[at]) else written[at]
    text = ["| " + " | ".join(line) + " |\n" for line in cells]
    rule = "|" + "|".join("---:" if is_right else "---" for is_right in right) + "|\n"
    return text[0] + rule + "".join(text[1:])
