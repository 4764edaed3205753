"""Which damages are told first: each of them an issue that somebody reports, none harmless."""

from __future__ import annotations

import string
from pathlib import Path

from torch_tb_profiler.evidence.damage import CODES
from torch_tb_profiler.knowledge.damage import damages
from torch_tb_profiler.trace.quality import ISSUE_TEXTS
from torch_tb_profiler.views.quality_notes import HARMLESS, LOSS_ISSUES

PACKAGE = Path(__file__).resolve().parents[2] / "torch_tb_profiler"
OF_RUNS = {
    "ranks_missing": PACKAGE / "views" / "distributed" / "notes.py",
    "worker_left_out": PACKAGE / "loading" / "queries" / "views.py",
}
"""Issues of a run, by where they are reported."""


def test_every_damage_is_an_issue_that_is_reported_and_no_harmless_one() -> None:
    issues = [issue for damage in damages() for issue in damage.issues]
    assert len(set(issues)) == len(issues)
    assert not HARMLESS.intersection(issues)
    for issue in issues:
        assert issue in ISSUE_TEXTS or f'"{issue}"' in OF_RUNS[issue].read_text(encoding="utf-8")


def test_whatever_costs_events_is_damage() -> None:
    assert {issue for damage in damages() for issue in damage.issues} >= LOSS_ISSUES


def test_entries_are_complete() -> None:
    assert tuple(damage.code for damage in damages()) == CODES
    for damage in damages():
        assert damage.title
        fields = {name for _, name, _, _ in string.Formatter().parse(damage.text) if name}
        assert fields == {"issues"}
