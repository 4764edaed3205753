"""What the measurement of accuracy counts, and how it is written."""

from __future__ import annotations

import pytest

from bench.diagnosis.cases import make_case, make_cases
from bench.diagnosis.causes import causes
from bench.diagnosis.judging import Claim, Verdict, judge
from bench.diagnosis.report import Score, written


def _verdict(true_pct: float, claims: tuple[Claim, ...], wrong: tuple[Claim, ...]) -> Verdict:
    return Verdict(
        seed="1/1",
        base="program",
        name="loader stall",
        has_gain=True,
        step_us=1000.0,
        true_us=true_pct * 10,
        true_pct=true_pct,
        is_healthy=true_pct < 1,
        is_expected=true_pct >= 7,
        claims=claims,
        wrong=wrong,
        is_found=len(claims) > len(wrong),
        is_first=claims[:1] != wrong[:1],
        gain_us=claims[0].gain_us if claims else None,
        what_if_pct=None,
    )


def test_a_score_counts_what_is_expected() -> None:
    right = Claim("dataloader_bound", 90.0, 9.0, (), "overview")
    wrong = Claim("launch_bound", 80.0, 8.0, (), "overview")
    score = Score.of(
        [
            _verdict(10, (right,), ()),
            _verdict(20, (wrong,), (wrong,)),
            _verdict(0, (wrong,), (wrong,)),
        ]
    )
    assert (score.expected, score.found, score.first) == (2, 1, 1)
    assert (score.claims, score.right, score.healthy, score.alarms) == (3, 1, 1, 1)
    assert score.errors == pytest.approx((10.0, 60.0))


def test_a_case_is_the_same_whenever_it_is_made() -> None:
    cause = causes()["loader stall"]
    first, again = make_case("4/0", cause), make_case("4/0", cause)
    assert (first.step_us, first.gain_us) == (again.step_us, again.gain_us)
    assert first.gain_us > 0


def test_a_run_has_as_many_cases_as_wanted() -> None:
    assert len(list(make_cases(1, 30))) == 30


def test_a_stall_of_the_loader_is_judged() -> None:
    verdict = judge(make_case("4/0", causes()["loader stall"]))
    assert (verdict.is_expected, verdict.is_found, verdict.is_first) == (True, True, True)
    assert verdict.error_pct is not None
    assert verdict.error_pct < 15


def test_a_section_of_the_document_is_replaced() -> None:
    text = "a\n<!-- totals -->\nold\n<!-- /totals -->\nb\n"
    assert written(text, "totals", "new") == "a\n<!-- totals -->\n\nnew\n\n<!-- /totals -->\nb\n"
    with pytest.raises(ValueError, match="causes"):
        written(text, "causes", "new")
