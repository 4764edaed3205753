"""Terms have one meaning each, and the section that defines them is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from torch_tb_profiler.knowledge.glossary import glossary

DOCS = Path(__file__).parents[2] / "docs"


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
            for heading in headings}  # fmt: skip


def test_sections_are_there() -> None:
    for term in glossary():
        page, _, anchor = term.docs.partition("#")
        assert (DOCS / page).is_file(), term.docs
        assert not anchor or anchor in anchors(DOCS / page), term.docs


def test_a_name_means_one_term() -> None:
    names = [name.lower() for term in glossary() for name in (term.term, *term.other_names)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_meanings_are_sentences() -> None:
    for term in glossary():
        assert term.meaning.endswith("."), term.term
        assert len(term.meaning) < 400
