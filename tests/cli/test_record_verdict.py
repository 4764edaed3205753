"""The verdict of a recording: the finding with the largest gain, each kind once, in five lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torch_tb_profiler.cli.record_verdict import rank_findings, shorten, verdict, verdict_lines
from torch_tb_profiler.views.schema import Note


def note(code: str, gain_pct: float | None, text: str = "It waits 30 % of it. Do not.") -> Note:
    evidence: dict[str, object] = {
        "title": code.title(),
        "estimated_gain_pct_of_step": gain_pct,
        "estimated_gain_us_per_step": None if gain_pct is None else gain_pct * 10,
        "measured": 30.0,
        "threshold": 5.0,
        "unit": "pct",
        "threshold_is_ours": True,
    }
    return Note("advice", code, "warning", text, evidence)


def test_the_largest_gain_comes_first_and_each_kind_once() -> None:
    given = [(note("a", None), "1"), (note("b", 5), "1"), (note("b", 50), "2"), (note("c", 9), "2")]
    assert [(each.code, location) for each, location in rank_findings(given)] == [
        ("b", "2"),
        ("c", "2"),
        ("a", "1"),
    ]


def test_causes_come_before_symptoms_and_small_gains_are_omitted() -> None:
    given = [
        (note("uneven_steps", 97), "1"), (note("compilation", None), "1"), (note("b", 0.5), "1"),
        (note("exposed_communication", 83), "1"), (note("straggler", None), "all"),
    ]  # fmt: skip
    codes = [each.code for each, _ in rank_findings(given)]
    assert codes == ["compilation", "straggler", "uneven_steps", "exposed_communication"]


def test_long_advice_is_shortened_between_sentences() -> None:
    assert shorten("Do this. " + "Then do that. " * 20) == "Do this. " + " ".join(
        ["Then do that."] * 10
    )
    assert len(shorten("x" * 999)) == 300


def test_a_verdict_has_five_lines() -> None:
    result = [(note("loading", 30), "In x."), *((note(f"n{i}", None), "") for i in range(6))]
    assert verdict_lines(result) == [
        "Verdict: Loading: est. gain 300 µs per step (30.0 % of it)",
        "  Finding:  It waits 30 % of it.",
        "  Evidence: Measured 30 %, rule of thumb: above 5 %. In x.",
        "  Advice:   Do not.",
        "  Others:   N0; N1; N2; N3; 2 more",
    ]


def test_without_findings_there_is_one_line() -> None:
    assert verdict_lines([]) == ["Verdict: nothing stands out in what was recorded."]
    assert verdict_lines([], ["No events."]) == ["Verdict: none. No events."]


def test_two_ranks_and_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "run").mkdir()
    assert verdict(str(tmp_path / "run")) == ["Verdict: none, because there is no trace."]
    for rank, slow_us in ((0, 100), (1, 100)):
        _write(tmp_path / "run" / f"rank{rank}.1.pt.trace.json", rank, slow_us)
    lines = verdict(str(tmp_path / "run"))
    assert lines[0].startswith("Verdict: ")
    assert any("rank0.1.pt.trace.json" in line for line in lines)


def _write(path: Path, rank: int, step_us: int) -> None:
    """Ten steps, one of them ten times as long: uneven by any measure."""
    events, at = [], 0
    for step in range(10):
        length = step_us * (10 if step == 5 else 1)
        for name, category in ((f"ProfilerStep#{step}", "user_annotation"), ("aten::mm", "cpu_op")):
            events.append(
                {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": at,
                 "dur": length - 1}
            )  # fmt: skip
        at += length
    info = {"backend": "gloo", "rank": rank, "world_size": 2}
    path.write_text(
        json.dumps({"schemaVersion": 1, "distributedInfo": info, "traceEvents": events})
    )
