"""What a run measured, as text and as tables of ``docs/diagnosis-accuracy.md``."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.diagnosis.causes import neutral
from bench.diagnosis.judging import LARGE_PCT, Verdict

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "diagnosis-accuracy.md"


@dataclass(frozen=True)
class Score:
    """Counts of some cases.

    Attributes:
        cases: How many.
        expected: Those whose cause must be found.
        found, first: Of these, those in which it is, and comes first.
        claims, right: Findings that claim a loss, and those that are right.
        errors: Relative errors of the estimated gains, per cent.
        healthy: Cases that lose nothing.
        alarms: Of these, those with a finding of a large gain.
    """

    cases: int
    expected: int
    found: int
    first: int
    claims: int
    right: int
    errors: tuple[float, ...]
    healthy: int
    alarms: int

    @staticmethod
    def of(verdicts: Sequence[Verdict]) -> Score:
        """The score of some cases."""
        expected = [each for each in verdicts if each.is_expected]
        errors = [each.error_pct for each in verdicts if each.error_pct is not None]
        claims = sum(len(_claims_of(each)) for each in verdicts)
        healthy = [each for each in verdicts if each.is_healthy]
        return Score(
            len(verdicts),
            len(expected),
            sum(each.is_found for each in expected),
            sum(each.is_first for each in expected),
            claims,
            claims - sum(len(each.wrong) for each in verdicts),
            tuple(errors),
            len(healthy),
            sum(any((each.gain_pct or 0) > LARGE_PCT for each in case.claims) for case in healthy),
        )


def _claims_of(verdict: Verdict) -> list[str]:
    return [claim.code for claim in verdict.claims if claim.code not in neutral()]


def summary(verdicts: Sequence[Verdict]) -> str:
    """All tables."""
    parts = totals(verdicts), by_cause(verdicts), by_finding(verdicts), what_ifs(verdicts)
    return "\n\n".join(parts)


def totals(verdicts: Sequence[Verdict]) -> str:
    """The figures with their goals."""
    score = Score.of(verdicts)
    within = sum(error <= 15 for error in score.errors)
    error = f"{median(score.errors):.1f} %" if score.errors else "–"
    rows = [
        ("precision: findings that are right", _share(score.right, score.claims), "≥ 95 %"),
        ("recall: causes that are found", _share(score.found, score.expected), "≥ 90 %"),
        ("first finding names the cause", _share(score.first, score.expected), "≥ 95 %"),
        ("median error of estimated gains", error, "≤ 15 %"),
        ("estimated gains within 15 %", _share(within, len(score.errors)), ""),
        (
            f"recordings without a loss that have a finding above {LARGE_PCT:.0f} %",
            f"{score.alarms} of {score.healthy}",
            "0",
        ),
    ]
    return _table(("measured", f"{score.cases} cases", "goal"), rows)


def by_cause(verdicts: Sequence[Verdict]) -> str:
    """One row per cause."""
    by_name: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_name[verdict.name].append(verdict)
    rows = []
    for name, each in by_name.items():
        score = Score.of(each)
        rows.append(
            (
                name,
                str(score.cases),
                str(score.expected),
                _share(score.found, score.expected),
                _share(score.first, score.expected),
                _share(score.right, score.claims),
                f"{median(score.errors):.0f} %" if score.errors else "–",
                f"{max(score.errors):.0f} %" if score.errors else "–",
            )
        )
    heads = ("cause", "cases", "to find", "found", "first", "right findings")
    return _table((*heads, "error of gain (median)", "(largest)"), rows)


def by_finding(verdicts: Sequence[Verdict]) -> str:
    """One row per finding that was made."""
    claims, wrong = Counter[str](), Counter[str]()
    causes: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        claims.update(_claims_of(verdict))
        wrong.update(claim.code for claim in verdict.wrong)
        for code in {claim.code for claim in verdict.wrong}:
            causes[code][verdict.name] += 1
    rows = [
        (
            f"`{code}`",
            str(count),
            _share(count - wrong[code], count),
            ", ".join(f"{name} ({cases})" for name, cases in causes[code].most_common()) or "–",
        )
        for code, count in claims.most_common()
    ]
    return _table(("finding", "made", "right", "wrong where the cause is"), rows)


def what_ifs(verdicts: Sequence[Verdict]) -> str:
    """One row per cause whose removal the critical path was asked for."""
    errors: dict[str, list[float]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.what_if_error_pct is not None:
            errors[verdict.name].append(verdict.what_if_error_pct)
    rows = [
        (name, str(len(each)), f"{median(each):.0f} %", f"{max(each):.0f} %")
        for name, each in errors.items()
    ]
    every = [error for each in errors.values() for error in each]
    if every:
        rows.append(("all", str(len(every)), f"{median(every):.0f} %", f"{max(every):.0f} %"))
    return _table(("cause", "cases", "error of what-if (median)", "(largest)"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole * 100:.0f} %)" if whole else "–"


def write_document(verdicts: Sequence[Verdict], command: str) -> None:
    """Put the tables into the document, each between its marks."""
    text = DOCUMENT.read_text(encoding="utf-8")
    made = {
        "totals": f"`{command}`:\n\n{totals(verdicts)}",
        "causes": by_cause(verdicts),
        "findings": by_finding(verdicts),
        "what-ifs": what_ifs(verdicts),
    }
    for section, table in made.items():
        text = written(text, section, table)
    DOCUMENT.write_text(text, encoding="utf-8")


def written(text: str, section: str, table: str) -> str:
    """The text with the content of a section replaced.

    Raises:
        ValueError: the text has no such section.
    """
    pattern = re.compile(rf"(<!-- {section} -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no section {section}")
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", text)
