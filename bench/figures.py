"""Figures: how they are printed, and how they get into ``docs/performance.md`` and
``docs/safety.md``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
SAFETY = DOCUMENT.with_name("safety.md")


@dataclass(frozen=True)
class Figure:
    """One figure. ``goal`` is for two cores and the sizes a benchmark has by itself, or None."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    larger_is_better: bool = False

    def __str__(self) -> str:
        return f"{self.name:<52} {self.shown:>10} {self.unit:<9} {self.verdict}".rstrip()

    @property
    def shown(self) -> str:
        """The value with as many digits as are worth reading."""
        decimals = 0 if self.value >= 100 or self.value == int(self.value) else 2
        return f"{self.value:,.{decimals}f}"

    @property
    def wanted(self) -> str:
        """The goal in words, empty when there is none."""
        if self.goal is None:
            return ""
        return f"at {'least' if self.larger_is_better else 'most'} {self.goal:g} {self.unit}"

    @property
    def is_met(self) -> bool:
        """Whether the goal, if there is one, is reached."""
        if self.goal is None:
            return True
        return self.value >= self.goal if self.larger_is_better else self.value <= self.goal

    @property
    def verdict(self) -> str:
        """Whether the goal is reached, for people."""
        return f"{'met' if self.is_met else 'MISSED'} ({self.wanted})" if self.wanted else ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`tell` looks at."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--write", action="store_true", help="put the figures into the docs")


def machine() -> str:
    """The machine by its cores and memory only."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {memory_gib:.0f} GiB memory, Python {sys.version.split()[0]}"


def tell(
    section: str,
    subject: str,
    figures: Sequence[Figure],
    arguments: argparse.Namespace,
    document: Path = DOCUMENT,
) -> None:
    """Print figures, and write them where the arguments say.

    Args:
        section: Name of the place in the document: ``<!-- section -->``.
        subject: What was measured.
        figures: The figures.
        arguments: With the options of :func:`add_options`.
        document: Where the section is.
    """
    for figure in figures:
        print(figure)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    if arguments.write:
        text = document.read_text(encoding="utf-8")
        document.write_text(written(text, section, subject, figures), encoding="utf-8")


def written(text: str, section: str, subject: str, figures: Sequence[Figure]) -> str:
    """``text`` with the table of a section made anew.

    Raises:
        ValueError: it has no such section.
    """
    rows = [(f.name, f.wanted or "–", f"{f.shown} {f.unit}") for f in figures]
    return with_table(text, section, subject, [("figure", "goal", "measured"), *rows])


def with_table(text: str, section: str, subject: str, rows: Sequence[Sequence[str]]) -> str:
    """``text`` with the table of a section made of ``rows``, of which the first is its head.

    Raises:
        ValueError: it has no such section.
    """
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    head = [f"{machine()}; {subject}:", ""]
    body = "\n".join([f"<!-- {section} -->", *head, *lines, f"<!-- /{section} -->"])
    place = re.compile(rf"<!-- {section} -->.*?<!-- /{section} -->", re.DOTALL)
    if not place.search(text):
        raise ValueError(f"there is no section {section}")
    return place.sub(lambda _: body, text)
