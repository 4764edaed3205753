"""The report as one document: verdict, findings, pictures, tables, how numbers are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from msgspec import Struct

from torch_tb_profiler._version import __version__
from torch_tb_profiler.reports.headings import distinct_headings, heading_of
from torch_tb_profiler.reports.html.charts import chart
from torch_tb_profiler.reports.html.facts import facts_markup
from torch_tb_profiler.reports.html.findings import findings_markup, quality_markup
from torch_tb_profiler.reports.html.markup import Markup, element, joined
from torch_tb_profiler.reports.html.step import step_pictures
from torch_tb_profiler.reports.html.style import page_style
from torch_tb_profiler.reports.html.tables import MAX_BYTES, ShownTable, table_markup
from torch_tb_profiler.reports.html.timeline import timeline_markup
from torch_tb_profiler.reports.step_bar import TABLE, step_bar
from torch_tb_profiler.requests.report import ReportContents, ReportSource
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.scales import size_text
from torch_tb_profiler.views.schema import Column, Table

TABLES_BYTES = 3_000_000
"""Of all tables together: with the pictures a report stays below 5 MB."""

INLINE_TABLES_BYTES = 500_000
"""Likewise in a notebook: Jupyter drops outputs of several MB."""

SECURITY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The browser's own word that nothing runs and nothing is loaded."""

_TOP = ("top_operators", "top_kernels")
"""Tables that follow the findings, as far as the first view has them."""

_TOP_ROWS = 5
_CHECKS = "checked"


class InlineDocument(Struct, frozen=True):
    """A report for a frame in another page.

    Attributes:
        html: The document.
        is_shortened: Whether the document of :func:`dumps` has more rows.
    """

    html: str
    is_shortened: bool


def dumps(contents: ReportContents) -> bytes:
    """The report as UTF-8. The same recording gives the same bytes."""
    return _document(contents, _table_bytes(contents, TABLES_BYTES), None, []).encode()


def inline_document(contents: ReportContents) -> InlineDocument:
    """The report for a frame in another page: fewer rows, and links within it stay within it."""
    base = element("base", href="about:srcdoc")
    shown: list[ShownTable] = []
    document = _document(contents, _table_bytes(contents, INLINE_TABLES_BYTES), base, shown)
    saved_bytes = _table_bytes(contents, TABLES_BYTES)
    limits = [table.cut_at_bytes for table in shown if table.cut_at_bytes is not None]
    return InlineDocument(document, any(limit < saved_bytes for limit in limits))


def _table_bytes(contents: ReportContents, tables_bytes: int) -> int:
    """How long one table of a view may be where all of them may have ``tables_bytes``."""
    count = sum(len(result.view.tables) for result in contents.results)
    return min(MAX_BYTES, tables_bytes // max(1, count))


def _document(
    contents: ReportContents, room_bytes: int, base: Markup | None, shown: list[ShownTable]
) -> str:
    """The document; adds its tables to ``shown``."""
    first = contents.results[0]
    heading = heading_of(first)
    body = joined(_body(contents, first, heading, room_bytes, shown))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        base,
        element("meta", http_equiv="Content-Security-Policy", content=SECURITY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{first.spec.title}: {heading}"),
        Markup(f"<style>{page_style()}</style>"),
    )
    document = element("html", head, element("body", element("main", body)), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def _body(
    contents: ReportContents,
    first: ViewResult,
    heading: str,
    room_bytes: int,
    shown: list[ShownTable],
) -> Iterable[Markup | None]:
    title = "PyTorch profile" if first.baseline is None else "Comparison of two PyTorch profiles"
    yield element("h1", title)
    yield element("p", heading, class_="soft")
    if first.view.answer:
        yield element("p", first.view.answer, class_="verdict")
    yield _recordings(contents)
    yield _contents_list(contents.results[1:])
    yield _card("Where a step goes", *step_pictures(first.view))
    yield _findings(first, shown)
    drawn = [picture for picture in contents.pictures if picture.tracks]
    yield _card("On the timeline", *map(timeline_markup, drawn))
    yield _where_time_goes(first, shown)
    for result in contents.results[1:]:
        yield _section(result, shown, room_bytes)
    yield _rest(first, shown, room_bytes)
    yield _counted(shown)
    yield _about(contents)


def _recordings(contents: ReportContents) -> Markup | None:
    """A line for each of several recordings with its answer; the report is about one of them."""
    first = heading_of(contents.results[0])
    items = []
    headings = list(map(heading_of, contents.recordings))
    names = distinct_headings(headings)
    for each, heading, name in zip(contents.recordings, headings, names, strict=True):
        title = element("b", f"{name}: " if heading != first else f"{name} (this report): ")
        items.append(element("li", title, each.view.answer or ""))
    return _card("Recordings", element("ul", *items, class_="notes")) if items else None


def _contents_list(results: Sequence[ViewResult]) -> Markup | None:
    if not results:
        return None
    links = (element("a", each.spec.title, href=f"#{each.spec.name}") for each in results)
    return element("nav", *links)


def _card(title: str, *children: Markup | None) -> Markup | None:
    present = [child for child in children if child]
    return element("section", element("h2", title), *present, class_="card") if present else None


def _findings(first: ViewResult, shown: list[ShownTable]) -> Markup | None:
    findings, evidence = findings_markup(first.view.notes)
    shown += evidence
    if findings is None and not first.spec.has_findings:
        return None
    return _card("Findings", findings or element("p", "No check reports an issue.", class_="soft"))


def _where_time_goes(first: ViewResult, shown: list[ShownTable]) -> Markup | None:
    tables = (first.view.tables.get(name) for name in _TOP)
    tops = [
        table_markup(table, max_rows=_TOP_ROWS)
        for table in tables
        if table is not None and table.why_empty is None
    ]
    shown += tops
    return _card("Where the time goes", *(top.markup for top in tops))


def _section(result: ViewResult, shown: list[ShownTable], room_bytes: int) -> Markup:
    """One view: its answer, findings, and what it consists of."""
    findings, evidence = findings_markup(result.view.notes)
    shown += evidence
    answer = element("span", result.view.answer or result.spec.help, class_="answer")
    tables = list(result.view.tables.values())
    title = element("span", element("h2", result.spec.title), answer)
    return _details(result, title, findings, tables, shown, room_bytes=room_bytes)


def _rest(first: ViewResult, shown: list[ShownTable], room_bytes: int) -> Markup:
    """What the first view has besides what stands at the top."""
    title = "System, checks and more" if first.baseline is None else first.spec.title
    tables = [table for name, table in first.view.tables.items() if name not in (*_TOP, TABLE)]
    if step_bar(first.view) is None and TABLE in first.view.tables:
        tables.insert(0, first.view.tables[TABLE])
    return _details(first, element("h2", title), None, tables, shown, room_bytes=room_bytes)


def _details(
    result: ViewResult,
    title: Markup,
    findings: Markup | None,
    tables: Sequence[Table],
    shown: list[ShownTable],
    *,
    room_bytes: int,
) -> Markup:
    """A folded chapter with charts, figures, tables and what limits the numbers."""
    drawn = [table_markup(table, room_bytes) for table in tables]
    shown += drawn
    # A link to what is within opens the chapter, one to the chapter itself does not.
    link_target = element("div", id=result.spec.name)
    return element(
        "details",
        element("summary", title),
        link_target,
        findings,
        *map(chart, result.view.series.values()),
        facts_markup(result.view.facts),
        *(table.markup for table in drawn),
        quality_markup(result.view.notes),
        class_="view",
    )


def _counted(shown: Sequence[ShownTable]) -> Markup | None:
    """What each column means, once for all tables that have it."""
    helps: dict[tuple[str, str], Column] = {}
    for table in shown:
        for column in table.columns:
            helps.setdefault((column.title, column.help), column)
    if not helps:
        return None
    entries = sorted(helps.values(), key=lambda column: column.title.lower())
    rows = [
        each
        for column in entries
        for each in (element("dt", column.title), element("dd", column.help))
    ]
    title = element("summary", element("h2", "How each number is counted"))
    return element("details", title, element("dl", *rows, class_="counted"), class_="view")


def _about(contents: ReportContents) -> Markup:
    lines = [f"Saved by torch-tb-profiler {__version__}."]
    return element(
        "section",
        element("h2", "About this report"),
        *map(_source, contents.sources),
        _live(contents.address),
        *(element("p", line) for line in lines),
        class_="card",
    )


def _source(source: ReportSource) -> Markup:
    parts = [source.path or source.name, source.format]
    if source.size_bytes is not None:
        parts.append(size_text(source.size_bytes))
    recorded = "date not recorded"
    if source.recorded_s is not None:
        time = datetime.fromtimestamp(source.recorded_s, timezone.utc)
        recorded = f"recorded {time:%Y-%m-%d %H:%M} UTC"
    return element("p", " · ".join(part for part in (*parts, recorded) if part))


def _live(address: str | None) -> Markup | None:
    if address is None:
        return None
    if address.startswith(("http://", "https://")):
        link = element("a", address, href=address, target="_blank", rel="noopener")
        return element("p", "Open it live: ", link)
    return element("p", "Open it live: ", element("code", address))
