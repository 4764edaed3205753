"""Throughput on the overview: figures of made-up runs, reasons where there is none, the curve."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers.recorder import MS, Run, blocks_of, journal_columns
from tests.helpers.traces import op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.throughput import NOT_TIMED
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.overview import throughput
from torch_tb_profiler.views.overview.throughput import TRACED, TRAIN
from torch_tb_profiler.views.overview.view import overview
from torch_tb_profiler.views.schema import Fact, View

RUN = Run(steps=40, evaluate_every=10, warmup_steps=3, windows=((10, 14),), step_ms=10, wait_ms=2)


def slowed() -> Trace:
    """Steps of the window take 13 ms instead of 10, into the time of those after."""
    blocks = blocks_of(RUN)
    for block in blocks:
        if block["kind"] == "steps" and block["phase"] == "train":
            block["end_ns"] = [
                end + 3 * MS if 10 <= number <= 14 else end
                for number, end in zip(block["step"], block["end_ns"], strict=True)
            ]
            block["start_ns"] = [
                start + 3 * MS if number == 15 else start
                for number, start in zip(block["step"], block["start_ns"], strict=True)
            ]
            block["end_ns"] = [
                end + 3 * MS if number == 15 else end
                for number, end in zip(block["step"], block["end_ns"], strict=True)
            ]
    return build_trace(journal_columns(blocks))


def facts(view: View) -> dict[str, Fact]:
    return {fact.key: fact for fact in view.facts}


def rows(view: View, steps_of: str) -> dict[str, dict[str, float]]:
    table = view.tables["throughput"].frame
    return {row["measure"]: row for row in table.rows(named=True) if row["steps_of"] == steps_of}


def test_figures_of_a_run() -> None:
    view = overview(slowed(), Selection())
    train = rows(view, TRAIN)
    assert train["batch_cost"]["mean"] == pytest.approx(10_000)
    assert train["reader_cost"]["p95"] == pytest.approx(2000)
    assert train["samples_per_s"]["median"] == pytest.approx(3200)
    assert {row["steps"] for row in train.values()} == {32}
    assert rows(view, TRACED)["batch_cost"]["median"] == pytest.approx(13_000)
    actual = facts(view)
    assert actual["steps_per_s"].value == pytest.approx(100)
    assert actual["samples_per_s"].value == pytest.approx(3200)
    assert actual["reader_ratio_pct"].value == pytest.approx(20)
    assert actual["profiler_overhead_pct"].value == pytest.approx(30)
    assert actual["warmup_steps"].value == 3


def test_it_is_of_the_whole_run_whatever_is_selected() -> None:
    built = build_trace(journal_columns(RUN))
    whole, some = overview(built, Selection()), overview(built, Selection(steps="3:4"))
    assert some.tables["throughput"].frame.equals(whole.tables["throughput"].frame)


def test_a_trace_that_nothing_timed_says_why() -> None:
    view = overview(trace([step(1, 0, 50), op("aten::mm", 0, 5)]), Selection())
    assert view.tables["throughput"].why_empty == NOT_TIMED
    assert "timed_steps" not in view.series
    for key in ("steps_per_s", "samples_per_s", "reader_ratio_pct", "profiler_overhead_pct"):
        assert facts(view)[key].value is None
        assert facts(view)[key].reason == NOT_TIMED


def test_the_recorders_own_reason_comes_first() -> None:
    run = Run(steps=0, dataset=None, missing=(("timer", "the clock broke"),))
    view = overview(build_trace(journal_columns(run)), Selection())
    assert "The clock broke" in (facts(view)["steps_per_s"].reason or "")


def test_what_some_runs_do_not_tell() -> None:
    blocks = blocks_of(replace(RUN, windows=(), dataset=None))
    for block in blocks:
        if block["kind"] == "steps":
            block["reader_ns"] = block["samples"] = [None] * len(block["step"])
    view = overview(build_trace(journal_columns(blocks)), Selection())
    actual = facts(view)
    assert actual["reader_ratio_pct"].reason == throughput.NO_WAITS
    assert actual["samples_per_s"].reason == throughput.NO_SAMPLES
    assert "3 steps with and 3 without the profiler" in (
        actual["profiler_overhead_pct"].reason or ""
    )
    assert set(rows(view, TRAIN)) == {"reader_cost", "batch_cost", "steps_per_s"}
    assert view.tables["throughput"].null_reasons["mean"] == throughput.NO_WAITS


def test_a_run_of_warm_up_only() -> None:
    run = replace(RUN, steps=3, windows=(), evaluate_every=0)
    actual = facts(overview(build_trace(journal_columns(run)), Selection()))
    assert "after warm-up" in (actual["steps_per_s"].reason or "")


def test_the_curve_has_every_step_and_breaks_where_others_come_between() -> None:
    curve = overview(slowed(), Selection()).series["timed_steps"]
    lines = {line.name: line for line in curve.lines}
    assert list(lines) == ["warm-up", "training", TRACED, "evaluation"]
    assert lines["training"].y.count(None) == 4  # the window and three evaluations
    assert lines[TRACED].y == pytest.approx([13_000] * 6 + [None], nan_ok=True)
    assert lines["warm-up"].x == pytest.approx([0, 10_000, 20_000, 30_000, 30_000])


def test_a_long_run_has_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "MAX_POINTS", 20)
    built = build_trace(journal_columns(Run(steps=200, warmup_steps=0)))
    lines = overview(built, Selection()).series["timed_steps"].lines
    assert [line.name for line in lines] == [
        "training, mean of 10 steps",
        "training, slowest of 10 steps",
    ]
    assert [len(line.x) for line in lines] == [22, 22]
    monkeypatch.setattr(throughput, "MAX_STRETCHES", 2)
    built = build_trace(journal_columns(Run(steps=200, warmup_steps=0, evaluate_every=5)))
    lines = overview(built, Selection()).series["timed_steps"].lines
    assert max(len(line.x) for line in lines) <= 22
