"""Findings as people read them, in the terminal and in Markdown.

Cases: findings before what limits the numbers; title, gain and its share of the step; what else
means the same time; nothing but a text; no gain.
"""

from __future__ import annotations

import pytest

from tests.reports.examples import SPEC
from torch_tb_profiler.reports import markdown, terminal
from torch_tb_profiler.reports.notes import (
    in_reading_order,
    measured_text,
    note_text,
    same_time_texts,
    title_text,
)
from torch_tb_profiler.views.schema import Note, View

LOADING = Note(
    "advice",
    "dataloader_bound",
    "warning",
    "The program waits.",
    {
        "title": "Data loading",
        "estimated_gain_us_per_step": 58_730.0,
        "estimated_gain_pct_of_step": 33.14,
        "same_time": [{"code": "low", "title": "Little used <GPU>", "text": "It idles."}],
    },
)
DAMAGE = Note("advice", "damaged_recording", "warning", "It is cut.", {"title": "Damaged"})
CUT = Note("quality", "truncated", "info", "The file ends in the middle.")
VIEW = View(notes=(CUT, DAMAGE, LOADING))


def test_findings_come_first_in_their_own_order() -> None:
    assert in_reading_order(VIEW.notes) == [DAMAGE, LOADING, CUT]


def test_a_finding_has_title_and_gain() -> None:
    assert title_text(LOADING) == "Data loading: est. gain 58.7 ms per step (33.1 % of it)"
    assert note_text(LOADING) == "The program waits."
    assert title_text(DAMAGE) == "Damaged"
    assert title_text(CUT) is None
    assert same_time_texts(CUT) == []


def test_a_gain_without_its_share_is_told_alone() -> None:
    evidence = {"title": "T", "estimated_gain_us_per_step": 5.0}
    assert (
        title_text(Note("advice", "x", "warning", "", evidence)) == "T: est. gain 5.00 µs per step"
    )
    evidence["estimated_gain_us_per_step"] = None
    assert title_text(Note("advice", "x", "warning", "", evidence)) == "T"


def finding(text: str, **evidence: object) -> Note:
    return Note("advice", "x", "warning", text, {"title": "T", **evidence})


@pytest.mark.parametrize(
    ("evidence", "shown"),
    [
        ({"unit": "pct", "measured": 33.369}, "Measured 33.4 %, rule of thumb: above 5 %."),
        ({"unit": "count", "measured": 1483.0}, "Measured 1,483, rule of thumb: above 5."),
        (
            {"unit": "pct", "measured": 4.0, "threshold_is_ours": False},
            "Measured 4 %, threshold: below 5 %.",
        ),
        ({"measured": None}, None),
    ],
)
def test_a_threshold_is_a_rule_of_thumb_unless_it_was_published(
    evidence: dict[str, object], shown: str | None
) -> None:
    given = {"threshold": 5.0, "threshold_is_ours": True, **evidence}
    assert measured_text(finding("It waits.", **given)) == shown
    assert measured_text(finding("It waits 9 % (rule of thumb: above 5 %).", **given)) is None
    told = [shown] if shown else []
    view = View(notes=(finding("It waits.", **given),))
    assert terminal.dumps(SPEC, view, "run", terminal.TextLayout(120)).split("\n")[5:-1] == [
        f"   {text}" for text in told
    ]
    assert markdown.dumps(SPEC, view, "run").split("\n")[3:][: len(told)] == [
        f"   - {text}" for text in told
    ]


def test_the_reason_of_a_small_gain_follows_what_was_measured() -> None:
    reason = "It concerns 1.2 % of the step."
    given = {"measured": 33.8, "threshold": 30.0, "unit": "pct", "threshold_is_ours": True}
    note = finding("Kernels.", gain_reason=reason, **given)
    assert measured_text(note) == f"Measured 33.8 %, rule of thumb: above 30 %. {reason}"
    assert measured_text(finding("Kernels.", gain_reason=reason)) == reason
    assert measured_text(finding("Kernels.", gain_reason=None)) is None


@pytest.mark.parametrize(
    ("text", "evidence", "shown"),
    [
        ("Lost launches.", {"count": 1204}, "Lost launches. (1,204 times)"),
        ("Lost 1,204 launches.", {"count": 1204}, "Lost 1,204 launches."),
        ("Lost 1 204 launches.", {"count": 1204}, "Lost 1 204 launches."),
        ("Lost a launch.", {"count": 1}, "Lost a launch."),
        (
            "Odd.",
            {"count": 9, "examples": ["a", {"ts": 1}, 2, "b"]},
            'Odd. (9 times; for example a, {"ts":1}, 2)',
        ),
    ],
)
def test_a_limit_of_the_numbers_says_how_often_and_where(
    text: str, evidence: dict[str, object], shown: str
) -> None:
    assert note_text(Note("quality", "x", "info", text, evidence)) == shown


def test_the_terminal_tells_it_in_this_order() -> None:
    lines = terminal.dumps(SPEC, VIEW, "run", terminal.TextLayout(120)).split("\n")[3:]
    assert lines == [
        "1. Damaged",
        "   It is cut.",
        "   More: docs/advice.md#damaged_recording",
        "2. Data loading: est. gain 58.7 ms per step (33.1 % of it)",
        "   The program waits.",
        "   Same time, seen another way: Little used <GPU>. It idles.",
        "   More: docs/advice.md#dataloader_bound",
        "- The file ends in the middle.",
        "",
    ]


def test_markdown_tells_it_in_this_order_and_escaped() -> None:
    lines = markdown.dumps(SPEC, VIEW, "run").split("\n")[2:]
    assert lines[:5] == [
        "1. **Damaged**. It is cut.",
        "2. **Data loading: est. gain 58.7 ms per step (33.1 % of it)**. The program waits.",
        "   - Same time, seen another way: Little used &lt;GPU&gt;. It idles.",
        "",
        "- **info**: The file ends in the middle.",
    ]
