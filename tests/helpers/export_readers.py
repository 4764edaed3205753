"""Exports as the programs see them that open them, to find what would act there; no reader is the
package's own."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree

from markdown_it import MarkdownIt

SEPARATORS = ",;\t"
"""What spreadsheets take for the end of a cell, by their language and settings."""

_BEFORE_FORMULA = re.compile(r"[\s\"\0-\x20\x7f-\xa0\u200b-\u200f\ufeff]*")
"""What one spreadsheet or another drops before it looks at a cell."""
_FORMULA = tuple("=+-@＝＋－＠")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?(,|$)")

SAFE_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "nav", "section", "details"),
    *("summary", "h1", "h2", "h3", "p", "b", "small", "code", "a", "ul", "ol", "li", "i", "dl"),
    *("dt", "dd", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "figure"),
    *("figcaption", "svg", "g", "rect", "path", "line", "text"),
}
"""Elements of a report; none runs, loads or sends anything."""

_LOADING = {
    *("src", "srcset", "srcdoc", "action", "formaction", "data", "poster", "background"),
    *("xlink:href", "ping", "autofocus"),
}
"""Attributes that load or send."""

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def formulas(text: str) -> Iterator[tuple[str, str]]:
    """The cells of a CSV that a spreadsheet would compute, with the separator it would use."""
    for separator in SEPARATORS:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            for cell in row:
                start = _BEFORE_FORMULA.sub("", cell, count=1)
                if start.startswith(_FORMULA) and not _NUMBER.match(cell):
                    yield separator, cell


def terminal_controls(text: str) -> set[str]:
    """Characters that a terminal would act on, or that nobody would see; line feeds are none."""
    return {
        character
        for character in set(text) - {"\n"}
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    }


class Page(HTMLParser):
    """Tags with their attributes, and texts, as a browser reads them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def names(self) -> set[str]:
        """The elements that occur."""
        return {tag for tag, _ in self.tags}

    def acting(self) -> list[tuple[str, str, str | None]]:
        """Elements and attributes that would run, load, send, or lead anywhere but to this page and
        to documentation."""
        acting: list[tuple[str, str, str | None]] = [
            (tag, "", None) for tag, _ in self.tags if tag not in SAFE_TAGS
        ]
        for tag, attributes in self.tags:
            for name, value in attributes.items():
                leads = name == "href" and not (value or "").startswith(("#", "https://"))
                styles = name == "style" and "url" in (value or "")
                if leads or styles or name.startswith("on") or name in _LOADING:
                    acting.append((tag, name, value))
        return acting


def rendered(markdown: str) -> Page:
    """Markdown as GitHub renders it (tables, addresses as links), and with its HTML left alone."""
    reader = MarkdownIt("gfm-like", {"html": True})
    if reader.linkify is not None:
        reader.linkify.set(
            {"fuzzy_link": False, "fuzzy_email": False}
        )  # as GitHub: ``a.py`` is no site
    return Page(reader.render(markdown))


def drawings(markup: str) -> list[ElementTree.Element]:
    """The SVG drawings of a page, each read as XML.

    Raises:
        ElementTree.ParseError: one is not well-formed.
    """
    parts, depth, start = [], 0, 0
    for mark in re.finditer(r"<(/?)svg\b", markup):
        start = mark.start() if depth == 0 else start
        depth += -1 if mark[1] else 1
        if depth == 0:
            parts.append(ElementTree.fromstring(markup[start : mark.start()] + "</svg>"))
    return parts


def workbook(data: bytes) -> dict[str, list[list[tuple[str, str]]]]:
    """Sheet → rows → cells as (type, text); the type of numbers is ``n``, of shared texts ``s``.

    Raises:
        AssertionError: the workbook holds formulas, links, or parts that come from elsewhere.
    """
    book = zipfile.ZipFile(io.BytesIO(data))
    parts = set(book.namelist())
    assert not [
        part for part in parts if re.search("external|vba|embed|connection|query", part, re.I)
    ]
    relations = [book.read(part) for part in parts if part.endswith(".rels")]
    assert not any(b'TargetMode="External"' in each for each in relations)
    shared = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
    texts = ["".join(part.text or "" for part in each.iter(f"{_MAIN}t")) for each in shared]
    contents = ElementTree.fromstring(book.read("xl/workbook.xml"))
    names = [each.get("name", "") for each in contents.iter(f"{_MAIN}sheet")]
    sheets = {}
    for number, name in enumerate(names, start=1):
        page = ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
        assert not list(page.iter(f"{_MAIN}f")), "a formula"
        assert not list(page.iter(f"{_MAIN}hyperlink")), "a link"
        rows = []
        for row in page.iter(f"{_MAIN}row"):
            cells = []
            for cell in row.iter(f"{_MAIN}c"):
                kind, value = cell.get("t", "n"), cell.find(f"{_MAIN}v")
                text = "" if value is None else value.text or ""
                cells.append((kind, texts[int(text)] if kind == "s" else text))
            rows.append(cells)
        sheets[name] = rows
    return sheets
