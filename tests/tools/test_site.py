"""The documentation as a site: it builds strictly, is complete, and needs no other host."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from mkdocs.config import load_config

from tools.site.example_recordings import RECORDINGS
from tools.site.hooks import NO_PICTURES, ROOT_PAGES, all_pictures

ROOT = Path(__file__).parents[2]
SOURCES = {path.name: path for path in sorted((ROOT / "docs").glob("*.md"))}
SOURCES |= {page: ROOT / source for page, source in ROOT_PAGES.items()}
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that a browser loads by itself, with the attribute of their address."""

BLOCKS = ("h1", "h2", "h3", "ul", "ol", "li", "tr", "td", "pre", "blockquote")
FOREIGN = re.compile(r"^(?:https?:)?//")


class _Elements(HTMLParser):
    """Counts the elements of the text of a page; collects ids and what the browser would load."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self._is_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self._is_text |= tag == "article"
        self.counts[tag] += self._is_text
        if (address := attributes.get(LOADING.get(tag, ""))) is not None:
            self.loaded.append(address)
        if (name := attributes.get("id")) is not None:
            self.ids.append(name)

    def handle_endtag(self, tag: str) -> None:
        self._is_text &= tag != "article"


def elements_of(html: str) -> _Elements:
    """The elements of a document."""
    elements = _Elements()
    elements.feed(html)
    return elements


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; any broken link or anchor, and any page out of the navigation, fails here."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def _navigated(entries: object) -> Iterator[str]:
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        for inner in entries.values():
            yield from _navigated(inner)
    elif isinstance(entries, list):
        for inner in entries:
            yield from _navigated(inner)


def test_every_page_is_in_the_navigation_once() -> None:
    navigated = list(_navigated(load_config(str(ROOT / "mkdocs.yml"))["nav"]))
    assert sorted(navigated) == sorted(SOURCES)


def test_a_broken_link_and_a_broken_anchor_fail(tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\n# A new page")[0]
    # One page is enough, and needs no theme.
    text = re.sub(r"^theme:.*?(?=^plugins)", "", text, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("  - offline\n", "").replace("hooks: [tools/site/hooks.py]", "")
    (tmp_path / "mkdocs.yml").write_text(text, encoding="utf-8")
    page = tmp_path / "docs" / "index.md"
    page.parent.mkdir()
    for link, is_valid in (("#title", True), ("#nowhere", False), ("nowhere.md", False)):
        page.write_text(f"# Title\n\n[link]({link})\n", encoding="utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert (done.returncode == 0) == is_valid, link


@pytest.mark.parametrize("page", SOURCES)
def test_a_page_has_the_blocks_that_github_shows(page: str, site: Path) -> None:
    """Python-Markdown, of the site, and CommonMark, of GitHub, differ in lists, tables and code."""
    text = SOURCES[page].read_text(encoding="utf-8")
    by_commonmark = MarkdownIt("commonmark").enable("table").render(text)
    expected = elements_of(f"<article>{by_commonmark}</article>").counts
    shown = elements_of(_html(site, page)).counts
    assert {tag: shown[tag] for tag in BLOCKS} == {tag: expected[tag] for tag in BLOCKS}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(SOURCES)
    for page in pages:
        html = page.read_text(encoding="utf-8")
        assert [it for it in elements_of(html).loaded if FOREIGN.match(it)] == [], page.name
        assert 'class="mermaid"' not in html, "the theme loads mermaid from a CDN"
    for style in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", style.read_text("utf-8"))
        assert [it for it in addresses if FOREIGN.match(it)] == [], style.name


def test_the_search_runs_from_disk(site: Path) -> None:
    """A script that defines the index, and the shim of workers, which files cannot have."""
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    entries = json.loads(index.partition("=")[2])["docs"]
    searched = {entry["location"].partition("#")[0] for entry in entries}
    assert searched >= {page.replace(".md", ".html") for page in SOURCES}
    home = elements_of(_html(site, "index.md"))
    assert "assets/javascripts/iframe-worker.js" in home.loaded


def test_pictures_are_of_pages_and_headings_that_exist() -> None:
    pictures = all_pictures()
    assert len({picture.name for picture in pictures}) == len(pictures)
    for picture in pictures:
        text = SOURCES[picture.page].read_text(encoding="utf-8")
        heading = picture.below or text.partition("\n")[0].lstrip("# ")
        assert re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE), picture.name
        name = picture.logdir.removeprefix("simulated:")
        assert name in RECORDINGS or (ROOT / name).is_dir(), picture.logdir
    with_picture = {picture.page for picture in pictures}
    assert {name for name in SOURCES if name.startswith("views-")} <= with_picture


def test_a_site_without_pictures_says_so(site: Path) -> None:
    has_pictures = any((site / "images").rglob("*-dark.png"))
    assert (NO_PICTURES.strip("*") in _html(site, "index.md")) == (not has_pictures)


def _html(site: Path, page: str) -> str:
    return (site / page.replace(".md", ".html")).read_text(encoding="utf-8")
