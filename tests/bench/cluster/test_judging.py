"""What counts as right, and how it is counted."""

from __future__ import annotations

from typing import Any

import pytest

from bench.cluster import judging
from bench.cluster.judging import (
    Verdict,
    cause_matches,
    location_matches,
    parse_ranks,
    ranks_text,
)
from bench.cluster.report import by_cause, line, totals, wrong
from torch_tb_profiler.api import UnknownError


def _known(**values: Any) -> dict[str, Any]:
    known = {
        "cause": "slow_device", "product_cause": "slow_device", "level": "rank", "ranks": [5],
        "node": None, "switch": None, "detail": None,
    }  # fmt: skip
    return {**known, **values}


def _row(**values: Any) -> dict[str, Any]:
    row = {"cause": "slow_device", "level": "rank", "location": "rank 5", "ranks": "5"}
    return {**row, **values}


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("5", {5}),
        ("1-3, 7", {1, 2, 3, 7}),
        ("0–1", {0, 1}),
        ("0-6/3, 8", {0, 3, 6, 8}),
        (None, set()),
        ("all", set()),
    ],
)
def test_ranks_are_read(text: str | None, ranks: set[int]) -> None:
    assert parse_ranks(text) == ranks


def test_ranks_are_written() -> None:
    assert ranks_text([3, 1, 2, 7]) == "1-3, 7"
    assert parse_ranks(ranks_text([0, 2, 4, 5, 6])) == {0, 2, 4, 5, 6}


def test_a_location_is_right_if_it_names_all_and_only_who_is_struck() -> None:
    assert location_matches(_row(), _known())
    assert not location_matches(_row(ranks="4-5"), _known())
    assert not location_matches(None, _known())
    node = _known(level="node", node="n3", ranks=[24, 25])
    assert location_matches(_row(level="node", location="node n3", ranks="24-31"), node)
    assert not location_matches(_row(level="node", location="node n30", ranks="1"), node)


def test_a_replica_may_be_half_named_and_an_expert_in_one_group() -> None:
    replica = _known(cause="uneven_tokens", ranks=[8, 9, 10, 11])
    assert location_matches(_row(ranks="8, 9"), replica)
    assert not location_matches(_row(ranks="8"), replica)
    assert not location_matches(_row(ranks="7-10"), replica)
    expert = _known(cause="overloaded_expert", level="expert", ranks=[1, 9, 17, 25])
    assert location_matches(_row(ranks="9"), expert)


def test_a_pause_must_be_named() -> None:
    known = _known(product_cause="pause", detail="checkpoint")
    assert cause_matches(_row(cause="pause", detail="checkpoint"), known)
    assert not cause_matches(_row(cause="pause", detail=None), known)
    assert not cause_matches(_row(), known)


def _verdict(cause: str, *, is_right: bool, est_pct: float | None = None) -> Verdict:
    return Verdict(
        seed=1, ranks=64, cause=cause, is_decidable=True, truth="{}", answer="", true_pct=10.0,
        cause_right=is_right, location_right=is_right, pattern_right=None, other_causes=0,
        est_pct=est_pct, seconds=1.0,
    )  # fmt: skip


def test_tables_count_planted_and_healthy_jobs_apart() -> None:
    verdicts = [
        _verdict("slow_host", is_right=True, est_pct=9.0),
        _verdict("slow_host", is_right=False),
        _verdict("none", is_right=True),
    ]
    text = totals(verdicts)
    assert "| cause and location | 1 of 2 (50.0 %) |" in text
    assert "| nothing named in healthy jobs | 1 of 1 (100.0 %) |" in text
    assert "| error of the cost (median) | 10 % |" in text
    assert "| slow_host | 2 | 1 of 2 (50.0 %) |" in by_cause(verdicts)
    assert wrong(verdicts) == line(verdicts[1])


def test_an_error_of_the_product_is_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Verdict:
        raise UnknownError("no_such_view", "There is no view hang.")

    monkeypatch.setattr(judging, "_judge", fail)
    verdict = judging.judge("hang", 1, 8, "random")
    assert not verdict.is_right
    assert verdict.answer == "There is no view hang."


def test_a_layout_is_judged_by_what_the_product_shows() -> None:
    verdict = judging.judge("layout", 3, 8, "none")
    assert verdict.cause_right
    assert verdict.seconds > 0


def _hang(**values: Any) -> dict[str, Any]:
    known = {"kind": "stuck", "rank": 5, "is_transfer": False, "members": [4, 5], "sequence": 7}
    return {**known, **values}


def _group(**values: Any) -> dict[str, Any]:
    row = {"ranks": "4-5", "sequence": 7, "waiting_ranks": "4", "blocking_ranks": "5"}
    return {**row, "no_dump_ranks": None, **values}


def test_a_hang_is_named_by_its_group_and_number() -> None:
    assert judging.names_call(_group(), _hang())
    assert not judging.names_call(_group(sequence=8), _hang())
    assert not judging.names_call(_group(ranks="4-6"), _hang())
    assert judging.blamed_ranks(_group(), _hang()) == {5}


def test_of_a_dead_rank_any_call_that_waits_for_it_will_do() -> None:
    row = _group(ranks="0-7", sequence=1, blocking_ranks=None, no_dump_ranks="5")
    assert judging.names_call(row, _hang(kind="dead"))
    assert not judging.names_call(row, _hang(kind="dead", rank=6))


def test_of_two_receives_the_pair_is_named() -> None:
    known = _hang(kind="transfer", is_transfer=True, peer=4)
    assert judging.names_call(_group(sequence=9), known)
    assert judging.blamed_ranks(_group(blocking_ranks="4", waiting_ranks="5"), known) == {4, 5}
    assert not judging.names_call(_group(waiting_ranks="3"), known)
