"""Nothing public ships undocumented: options, views, tables, links, and the examples run."""

from __future__ import annotations

import argparse
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torch_tb_profiler.cli import with_descending_sort
from torch_tb_profiler.cli.arguments import make_parser
from torch_tb_profiler.views.registry import all_views

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
NOT_OURS = {"pickle.py", "rules.toml", "torch/nn/modules/module.py"}
"""Files that the docs name and that belong to others."""
SOURCES = [
    path
    for folder in ("torch_tb_profiler", "tests", "tools", "bench")
    for pattern in ("*.py", "*.toml")
    for path in sorted((ROOT / folder).rglob(pattern))
]
CITED = re.compile(r"docs/([\w-]+\.md)(?:#([\w.-]*\w))?")
PRIVATE = re.compile(
    r"[Pp]eer-behaviour|[Dd]esign §|format reference|\(§|\[§"
    r"|\b(?:analyses|ui|landscape)\.md"
)
"""Documents that are not in the repository: nobody who reads the code has them."""
EXAMPLE = re.compile(r"^ +(torch-tb-profiler (?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)


def _commands() -> dict[str, argparse.ArgumentParser]:
    actions = make_parser()._actions
    subparsers = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    return dict(subparsers.choices)


def test_every_option_of_every_command_is_documented() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name, parser in _commands().items():
        assert f"## `{name}`" in text
        for action in parser._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or f"`{option}" in text, f"{name} {option}"


def test_the_guide_has_the_question_of_every_view_below_a_heading_of_its_page() -> None:
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    chapters = [" ".join(chapter.split()) for chapter in re.split(r"\n(?=#{2,3} )", text)]
    for spec in all_views().values():
        assert sum(spec.help in chapter for chapter in chapters) == 1, spec.name
    # The pages as the rail lists them, and their tabs.
    pages = (ROOT / "fe" / "src" / "pages" / "pages.ts").read_text(encoding="utf-8")
    titles = re.findall(r'title: "([^"]+)", question', pages) + re.findall(
        r'title: "([^"]+)",\n +question', pages
    )
    assert len(titles) == 11
    for title in titles:
        assert f"\n| {title} |" in text, title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), target
            assert not anchor or anchor in _anchors(file), target


def _anchors(page: Path) -> set[str]:
    """The anchors of a page: those of its headings, as GitHub makes them, and those it names."""
    text = page.read_text(encoding="utf-8")
    return set(re.findall(r'<a id="([^"]+)"></a>', text)) | {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")  # letters, digits, - and _
        for heading in re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_that_are_named_are_there(page: Path) -> None:
    names = re.findall(r"`([\w./-]+\.(?:py|toml|tsx?))(?:`|::)", page.read_text(encoding="utf-8"))
    for name in set(names) - NOT_OURS:
        assert any(f"/{file}".endswith(f"/{name}") for file in _files()), name


@functools.cache
def _files() -> frozenset[str]:
    folders = ("torch_tb_profiler", "tests", "tools", "bench", "samples", "fe/src", "fe/e2e")
    files = {path for folder in folders for path in (ROOT / folder).rglob("*.*")}
    return frozenset(str(path.relative_to(ROOT)) for path in files | set(ROOT.glob("*.*")))


def _examples() -> Iterator[str]:
    for page in PAGES:
        for example in EXAMPLE.findall(page.read_text(encoding="utf-8")):
            if "COMMAND" not in example:
                yield example.replace("\\\n", " ")


@pytest.mark.parametrize("example", sorted(set(_examples())))
def test_the_examples_are_understood(example: str) -> None:
    words = shlex.split(example.partition(" >")[0], comments=True)
    arguments = make_parser().parse_args(with_descending_sort(words[1:]))
    assert arguments.command in _commands()


def test_the_readme_of_python_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import torch_tb_profiler.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["operators"]) > 50
    assert len(names["kernels"]) > 3


def test_what_make_offers_is_what_the_docs_name() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"(?:^ {4}|`)make ([a-z]+)", page.read_text(), re.MULTILINE)
    }
    assert named <= targets
    assert {"demo", "test", "bench", "fe", "dist"} <= named
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_what_the_code_cites_is_in_the_repository() -> None:
    anchors = {page.name: _anchors(page) for page in PAGES}
    missing = []
    for source in SOURCES:
        if source == Path(__file__):
            continue
        text = source.read_text(encoding="utf-8")
        broken = [
            f"{name}#{anchor}"
            for name, anchor in CITED.findall(text)
            if name not in anchors or (anchor and anchor not in anchors[name])
        ]
        missing += [f"{source.relative_to(ROOT)}: {it}" for it in PRIVATE.findall(text) + broken]
    assert missing == []
