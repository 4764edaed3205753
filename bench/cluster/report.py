"""What judging many jobs gave, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from bench.cluster.jobs import NONE
from bench.cluster.judging import Verdict
from bench.diagnosis.report import DOCUMENT, written


def summary(verdicts: Sequence[Verdict]) -> str:
    """All tables."""
    slow = [each for each in verdicts if each.est_pct is not None or each.true_pct]
    parts = [totals(verdicts), by_cause(verdicts)]
    if slow:
        parts.append(f"Median time of the product: {median(v.seconds for v in verdicts):.1f} s")
    return "\n\n".join((*parts, wrong(verdicts)))


def write_section(verdicts: Sequence[Verdict], section: str, command: str) -> None:
    """Put the tables between the marks of a section of ``docs/diagnosis-accuracy.md``.

    Raises:
        ValueError: there is no such section.
    """
    text = DOCUMENT.read_text(encoding="utf-8")
    tables = f"`{command}`:\n\n{totals(verdicts)}\n\n{by_cause(verdicts)}"
    DOCUMENT.write_text(written(text, section, tables), encoding="utf-8")


def totals(verdicts: Sequence[Verdict]) -> str:
    """The figures over all causes."""
    planted = [each for each in verdicts if each.cause != NONE and each.is_decidable]
    healthy = [each for each in verdicts if each.cause == NONE]
    rows = [
        ("cause and location", _share([each.is_right for each in planted])),
        ("cause", _share([each.cause_right for each in planted])),
        ("location", _share([each.location_right for each in planted])),
        ("nothing named in healthy jobs", _share([each.is_right for each in healthy])),
        ("error of the cost (median)", _error(planted)),
    ]
    rows = [row for row in rows if row[1] != "–"]
    undecided = sum(not each.is_decidable for each in verdicts)
    if undecided:
        rows.append(("jobs whose files do not hold the answer", str(undecided)))
    return table(("measured", f"{len(verdicts)} jobs"), rows)


def by_cause(verdicts: Sequence[Verdict]) -> str:
    """One row per cause."""
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.is_decidable:
            groups[verdict.cause].append(verdict)
    rows = []
    for cause, each in sorted(groups.items()):
        patterns = [one.pattern_right for one in each if one.pattern_right is not None]
        rows.append(
            (
                cause,
                str(len(each)),
                _share([one.cause_right for one in each]),
                _share([one.location_right for one in each]),
                _share([one.is_right for one in each]),
                _share(patterns),
                _error(each),
            )
        )
    heads = ("cause", "jobs", "cause right", "location right", "both", "pattern right")
    return table((*heads, "error of cost (median)"), rows)


def wrong(verdicts: Sequence[Verdict]) -> str:
    """The jobs that were judged wrongly, each with its seed."""
    lines = [line(each) for each in verdicts if each.is_decidable and not each.is_right]
    return "\n".join(lines)


def line(verdict: Verdict) -> str:
    """One job for people."""
    mark = "right" if verdict.is_right else "WRONG"
    if not verdict.is_decidable:
        mark = "open"
    est = "–" if verdict.est_pct is None else f"{verdict.est_pct:.1f}"
    return (
        f"{mark} seed {verdict.seed} ranks {verdict.ranks} {verdict.cause} "
        f"{verdict.true_pct:.1f} % (est. {est}) {verdict.truth} -> {verdict.answer or 'nothing'} "
        f"(+{verdict.other_causes}) {verdict.seconds:.1f} s"
    )


def _error(verdicts: Sequence[Verdict]) -> str:
    """Of the cost of causes that were named rightly, relative to the true one."""
    errors = [
        100 * abs(each.est_pct / each.true_pct - 1)
        for each in verdicts
        if each.est_pct is not None and each.true_pct and each.is_right
    ]
    return f"{median(errors):.0f} %" if errors else "–"


def _share(values: Sequence[bool]) -> str:
    if not values:
        return "–"
    return f"{sum(values)} of {len(values)} ({100 * sum(values) / len(values):.1f} %)"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """As Markdown, without columns that say nothing."""
    columns = [
        place for place in range(len(head)) if any(row[place] != "–" for row in rows) or not rows
    ]
    head = [head[place] for place in columns]
    rows = [[row[place] for place in columns] for row in rows]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
