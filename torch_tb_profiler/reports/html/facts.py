"""The figures of a view: those that are known, and how many are not, with the reasons."""

from __future__ import annotations

from collections.abc import Sequence

from torch_tb_profiler.reports.brief.content import is_known, missing_text
from torch_tb_profiler.reports.cells import fact_text
from torch_tb_profiler.reports.html.markup import Markup, element, joined
from torch_tb_profiler.views.schema import Fact


def facts_markup(facts: Sequence[Fact]) -> Markup | None:
    """The known figures, and one folded line for the others; None without figures."""
    known = [fact for fact in facts if is_known(fact)]
    unknown = [fact for fact in facts if not is_known(fact)]
    parts = [element("dl", *map(_row, known), class_="facts")] if known else []
    if unknown:
        parts.append(
            element("details", element("summary", missing_text(len(unknown))), _why(unknown))
        )
    return joined(parts) if parts else None


def _row(fact: Fact) -> Markup:
    return element(
        "div", element("dt", fact_title(fact)), element("dd", fact_text(fact)), title=fact.help
    )


def fact_title(fact: Fact) -> str:
    """The title, with what it is about."""
    return (
        f"{fact.title} ({fact.scope})"
        if fact.scope and fact.scope not in fact.title
        else fact.title
    )


def _why(unknown: Sequence[Fact]) -> Markup:
    by_reason: dict[str, list[str]] = {}
    for fact in unknown:
        by_reason.setdefault(fact.reason or "Not recorded.", []).append(fact_title(fact))
    items = [
        element("li", f"{', '.join(titles)}: {reason}") for reason, titles in by_reason.items()
    ]
    return element("ul", *items, class_="notes")
