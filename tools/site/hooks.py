"""What MkDocs does besides rendering ``docs/``: pages from the repository's root, and pictures.

Loaded by ``mkdocs.yml``. Links to files that are no pages of the site become the path in the
repository. The pictures are those of ``fe/e2e/pictures.ts``; a site without them says so.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from posixpath import normpath

import msgspec
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "site-pictures"
ROOT_PAGES = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "samples.md": "samples/README.md",
}
"""Page of the site → its source, relative to the root of the repository."""

LISTS = {"columns.md": 0.2, "changelog.md": 0.2}
"""Pages that name every word: the search lists them behind those that explain it."""

THEMES = ("light", "dark")
HOME = "index.md"
NO_PICTURES = "*Built without pictures of the pages: no browser was available.*"

_LINK = re.compile(r"(?<!!)\[(?P<label>[^\]]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")
_IMAGE_OF_DOCS = re.compile(r"(?<=\]\()docs/(?=images/)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_FENCE_OF_FILE = re.compile(r"^(```\w+) ([\w./-]+)$", re.MULTILINE)
"""Code that is the content of a file, whose path becomes its title."""

_LOG = logging.getLogger("mkdocs.hooks.site")


class Picture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture of a page of the program.

    Attributes:
        name: File name, without theme and suffix.
        page: The page of the site that shows it.
        below: The heading that it follows; empty for the title of the page.
        logdir: The recordings that are opened, relative to the root of the repository, or
            ``simulated:`` and a name of ``example_recordings.py``.
        address: What follows ``#`` in the address of the picture's page.
        caption: What it shows, in a sentence.
    """

    name: str
    page: str
    below: str
    logdir: str
    address: str
    caption: str


def all_pictures() -> list[Picture]:
    """The pictures of ``pictures.json``."""
    return msgspec.json.decode(
        Path(__file__).with_name("pictures.json").read_bytes(), type=list[Picture]
    )


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root and the pictures."""
    for page, source in ROOT_PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    available = sorted(PICTURES.glob("*.png"))
    for path in available:
        files.append(File.generated(config, f"images/pages/{path.name}", abs_src_path=str(path)))
    if not available:
        _LOG.info("%s/ has no pictures: `make pictures` takes them with Chromium.", PICTURES.name)
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """The text of a page with links of the site, and its pictures."""
    name = page.file.src_uri
    if name in LISTS:
        page.meta["search"] = {"boost": LISTS[name]}
    folder = str(Path(ROOT_PAGES.get(name, f"docs/{name}")).parent)
    parts = _FENCED.split(markdown)
    # Fenced code is at odd positions.
    parts[::2] = [_IMAGE_OF_DOCS.sub("", _with_site_links(part, folder)) for part in parts[::2]]
    parts[1::2] = [_FENCE_OF_FILE.sub(r'\1 title="\2"', part) for part in parts[1::2]]
    text = "".join(parts)
    for picture in all_pictures():
        if picture.page == name:
            text = _with_picture(text, picture)
    return f"{text}\n\n{NO_PICTURES}\n" if name == HOME and not any(PICTURES.glob("*")) else text


def _with_site_links(text: str, folder: str) -> str:
    """Replace the links of a file in ``folder`` by those between pages of the site."""
    pages = {source: page for page, source in ROOT_PAGES.items()}

    def site_link(match: re.Match[str]) -> str:
        label, target, anchor = match["label"], match["target"], match["anchor"] or ""
        if not target or ":" in target:
            return match[0]
        path = normpath(f"{folder}/{target}")
        if path in pages:
            return f"[{label}]({pages[path]}{anchor})"
        if path.startswith("docs/"):
            return f"[{label}]({path.removeprefix('docs/')}{anchor})"
        return f"{label} (`{path}` of the repository)"

    return _LINK.sub(site_link, text)


def _with_picture(text: str, picture: Picture) -> str:
    """The text of a page with a picture in both themes, as far as it was taken."""
    heading = rf"^#+ {re.escape(picture.below)}$" if picture.below else r"^# .+$"
    match = re.search(heading, text, re.MULTILINE)
    if match is None:
        _LOG.warning("pictures.json: %s has no heading %r.", picture.page, picture.below)
        return text
    images = [
        f"![{picture.caption}](images/pages/{picture.name}-{theme}.png#only-{theme})"
        for theme in THEMES
        if (PICTURES / f"{picture.name}-{theme}.png").is_file()
    ]
    if not images:
        return text
    caption = f"<figcaption>{picture.caption}</figcaption>"
    figure = "\n".join(('<figure markdown="span">', *images, caption, "</figure>"))
    return f"{text[: match.end()]}\n\n{figure}\n{text[match.end() :]}"
