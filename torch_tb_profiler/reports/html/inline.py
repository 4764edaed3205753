"""A view as the output of a notebook: an answer, pictures and the first rows, in bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from torch_tb_profiler.reports.cells import facts_in_order
from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.html.charts import chart
from torch_tb_profiler.reports.html.facts import facts_markup
from torch_tb_profiler.reports.html.findings import findings_markup, quality_markup
from torch_tb_profiler.reports.html.markup import Markup, element, frame, joined
from torch_tb_profiler.reports.html.step import step_pictures
from torch_tb_profiler.reports.html.style import NOTEBOOK_CLASS, notebook_style
from torch_tb_profiler.reports.html.tables import table_markup
from torch_tb_profiler.reports.notes import in_reading_order
from torch_tb_profiler.reports.step_bar import TABLE, step_bar
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.schema import Note, Table

MAX_BYTES = 400_000
"""Of one output, without the style; notebooks hold every output."""

MAX_TABLE_BYTES = 60_000
MAX_ROWS = 10
"""Of a table."""

MAX_FACTS = 24
MAX_NOTES = 5
"""Of findings, and of limits of the numbers."""

FRAME_HEIGHT_PX = 640

_TOP = ("top_operators", "top_kernels")
"""Tables that stand open below the bar of the step; of other views the first one does."""


class _Part(Struct, frozen=True):
    """A piece of the output, and what is reported in its stead where there is no room for it."""

    title: str
    markup: Markup


def result_markup(result: ViewResult) -> Markup:
    """All that a view answers: sentence, pictures, findings, figures, tables, limits."""
    return _output(result, _result_parts(result))


def verdict_markup(result: ViewResult, next_steps: str) -> Markup:
    """The verdict on a recording with its most important findings.

    Args:
        result: The overview.
        next_steps: Code that shows more.
    """
    more = _Part("", element("p", "More: ", element("code", next_steps), class_="soft"))
    return _output(result, [*_verdict_parts(result), more])


def message_markup(message: str) -> Markup:
    """A message where there is nothing else to show."""
    return _framed(element("p", message))


def report_frame(document: str, title: str, message: str) -> Markup:
    """A whole report in a frame in which nothing runs.

    Args:
        document: The report.
        title: What the frame holds.
        message: A line below it.
    """
    inner = frame(document, title, FRAME_HEIGHT_PX)
    return _framed(inner, element("p", message, class_="soft"))


def _framed(*children: Markup | None) -> Markup:
    style = Markup(f"<style>{notebook_style()}</style>")
    return element("div", style, *children, class_=NOTEBOOK_CLASS)


def _output(result: ViewResult, parts: Sequence[_Part] | Iterator[_Part]) -> Markup:
    title = element("b", result.spec.title)
    pieces: list[Markup | None] = [element("p", title, f" {heading_of(result)}", class_="soft")]
    left_out: list[str] = []
    size = 0
    for part in parts:
        part_bytes = len(part.markup.encode())
        if size + part_bytes > MAX_BYTES:
            left_out.append(part.title)
            continue
        size += part_bytes
        pieces.append(part.markup)
    if left_out:
        text = f"Too large for a notebook: {', '.join(left_out)}. "
        pieces.append(element("p", text, element("code", "print(result)"), class_="soft"))
    return _framed(*pieces)


def _verdict_parts(result: ViewResult) -> Iterator[_Part]:
    view = result.view
    if view.answer:
        yield _Part("the answer", element("p", view.answer, class_="verdict"))
    for picture in step_pictures(view):
        yield _Part("the step", picture)
    advice = [note for note in in_reading_order(view.notes) if note.kind == "advice"]
    findings, _ = findings_markup([_without_rows(note) for note in advice[:MAX_NOTES]])
    if findings is not None:
        yield _Part("findings", joined([findings, _more(advice, MAX_NOTES, "findings", "notes")]))


def _result_parts(result: ViewResult) -> Iterator[_Part]:
    view = result.view
    yield from _verdict_parts(result)
    for series in view.series.values():
        picture = chart(series)
        if picture is not None:
            yield _Part(f"chart {series.title}", picture)
    leading, others = facts_in_order(result.spec, view.facts)
    facts = [*leading, *others]
    figures = facts_markup(facts[:MAX_FACTS])
    if figures is not None:
        yield _Part("figures", joined([figures, _more(facts, MAX_FACTS, "figures", "facts")]))
    yield from _table_parts(result)
    limits = [note for note in view.notes if note.kind == "quality"]
    quality = quality_markup(limits[:MAX_NOTES])
    if quality is not None:
        yield _Part("notes", joined([quality, _more(limits, MAX_NOTES, "notes", "notes")]))


def _table_parts(result: ViewResult) -> Iterator[_Part]:
    """The tables that answer the view's question stand open, the others are folded."""
    tables = dict(result.view.tables)
    is_drawn = step_bar(result.view) is not None
    if is_drawn:
        tables.pop(TABLE, None)
    opened = _TOP if is_drawn and set(_TOP) & set(tables) else tuple(tables)[:1]
    folded = [table for name, table in tables.items() if name not in opened]
    for name in opened:
        if name in tables:
            yield _Part(f"table {name}", _table(result, tables[name]))
    if folded:
        titles = ", ".join(table.spec.title for table in folded)
        title = element("summary", f"{len(folded)} more: {titles}")
        drawn = [_table(result, table) for table in folded]
        yield _Part(f"{len(folded)} more tables", element("details", title, *drawn))


def _table(result: ViewResult, table: Table) -> Markup:
    shown = table_markup(table, MAX_TABLE_BYTES, MAX_ROWS)
    name, height = table.spec.name, table.frame.height
    if table.row_count is not None and table.row_count > height:
        code = f'trace.view("{result.spec.name}", table="{name}")'
    elif height > shown.row_count:
        code = f'result.table("{name}")'
    else:
        return shown.markup
    hint = element("p", "All rows: ", element("code", code), class_="soft")
    return joined([shown.markup, hint])


def _without_rows(note: Note) -> Note:
    """A finding without its table of evidence, which the report has."""
    evidence = {key: value for key, value in note.evidence.items() if key != "rows"}
    return Note(note.kind, note.code, note.severity, note.text, evidence)


def _more(items: Sequence[object], shown: int, what: str, attribute: str) -> Markup | None:
    if len(items) <= shown:
        return None
    count = f"{len(items) - shown} more {what}: "
    return element("p", count, element("code", f"result.{attribute}"), class_="soft")
