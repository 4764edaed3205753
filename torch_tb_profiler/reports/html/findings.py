"""The findings of a view with their evidence, and what limits its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from torch_tb_profiler.knowledge.documentation import finding_address, site_url
from torch_tb_profiler.reports.html.markup import Markup, element, joined
from torch_tb_profiler.reports.html.tables import ShownTable, table_markup
from torch_tb_profiler.reports.notes import (
    in_reading_order,
    measured_text,
    note_text,
    same_time_texts,
    title_text,
)
from torch_tb_profiler.views.schema import Column, Note, Table, TableSpec

MAX_ROWS = 5
"""Rows of evidence per finding."""


def findings_markup(notes: Sequence[Note]) -> tuple[Markup | None, list[ShownTable]]:
    """The findings in the order of their rank with their evidence tables; None without any."""
    advice = [note for note in in_reading_order(notes) if note.kind == "advice"]
    if not advice:
        return None, []
    items, shown = [], []
    for note in advice:
        evidence = _evidence(note)
        shown += [evidence] if evidence else []
        items.append(_finding(note, evidence))
    return element("ol", *items, class_="findings"), shown


def quality_markup(notes: Sequence[Note]) -> Markup | None:
    """What limits the numbers; None where nothing does."""
    limits = [note for note in notes if note.kind == "quality"]
    if not limits:
        return None
    return element("ul", *(element("li", note_text(note)) for note in limits), class_="notes")


def _finding(note: Note, evidence: ShownTable | None) -> Markup:
    title = title_text(note)
    besides = [text for text in (measured_text(note), *same_time_texts(note)) if text is not None]
    return element(
        "li",
        element("p", element("b", f"{title}. ") if title else None, note_text(note)),
        *(element("p", text, class_="soft") for text in besides),
        _links(note),
        None if evidence is None else evidence.markup,
    )


def _links(note: Note) -> Markup | None:
    """Where to read on: the documentation, if it has a site, and what the finding links to."""
    links = note.evidence.get("links")
    addresses = [link for link in links if isinstance(link, str)] if isinstance(links, list) else []
    titles = {
        link: link.removeprefix("https://") for link in addresses if link.startswith("https://")
    }
    if site_url() is not None and (described := finding_address(note.code)) is not None:
        titles = {described: "the documentation"} | titles
    anchors = [
        element("a", title, href=link, target="_blank", rel="noopener")
        for link, title in titles.items()
    ]
    return element("p", "See ", joined(anchors, ", "), class_="soft") if anchors else None


def _evidence(note: Note) -> ShownTable | None:
    """The evidence as a table; None where it has no rows."""
    table, rows = note.evidence.get("table"), note.evidence.get("rows")
    if not isinstance(table, Mapping) or not isinstance(rows, list) or not rows:
        return None
    return table_markup(_table(table, rows, note.code), max_rows=MAX_ROWS)


def _table(declared: Mapping[str, Any], rows: list[Mapping[str, Any]], name: str) -> Table:
    columns = tuple(Column(**column) for column in declared["columns"])
    spec = TableSpec(name, declared["title"], declared["help"], columns)
    frame = pl.DataFrame(rows, schema=spec.polars_schema())
    return Table(spec, frame, dict(declared["null_reasons"]))
