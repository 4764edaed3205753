"""Throughput of two runs side by side: figures by hand, gates, and how sure a difference is where
neighbouring steps are alike.

Cases: runs with a trace and with a timer only; one that nothing timed; steps of which something is
not known; 95 % of sureness is wrong about once in twenty, also with autocorrelation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from tests.helpers import traces as t
from tests.helpers.opening import open_file
from tests.helpers.recorder import Run, blocks_of, journal_columns
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.throughput import NOT_TIMED
from torch_tb_profiler.recorder.throughput.timer import Timer
from torch_tb_profiler.storage.locations import Location
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.gate import GateError, evaluate
from torch_tb_profiler.views.compare.student import confidence_pct, moments
from torch_tb_profiler.views.compare.throughput import NOT_PER_STEP, _blocks, _of_blocks
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.schema import View

ALL = Selection()
TYPES: dict[str, Any] = {"Input type": ["float", "float"]}
RUN = Run(steps=100, warmup_steps=4)


def varied(step_ms: float, seed: int, run: Run = RUN) -> Trace:
    """Steps of about that length, from 0 to 4 % less."""
    numbers = np.random.default_rng(seed)
    blocks = blocks_of(replace(run, step_ms=step_ms))
    for block in blocks:
        if block["kind"] == "steps":
            less = numbers.integers(0, round(step_ms * 40_000), len(block["end_ns"]))
            block["end_ns"] = [int(end - by) for end, by in zip(block["end_ns"], less, strict=True)]
    return build_trace(journal_columns(blocks))


def rows(view: View) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in view.tables["throughput"].frame.rows(named=True)}


def test_a_slower_run() -> None:
    before, after = varied(10, 1), varied(10.6, 2)
    told = rows(compare(before, ALL, after, ALL))
    mean = {}
    for name, trace in (("baseline", before), ("candidate", after)):
        steps = trace.side["timed_steps"].frame[4:]["duration_us"].to_numpy()
        assert told["batch_cost"][f"{name}_mean_us"] == pytest.approx(steps.mean())
        assert told["batch_cost"][f"{name}_median_us"] == pytest.approx(np.median(steps))
        assert told["samples_per_s"][f"{name}_rate_per_s"] == pytest.approx(32e6 / steps.mean())
        assert told["batch_cost"][f"{name}_steps"] == 96
        mean[name] = steps.mean()
    assert told["batch_cost"]["delta_mean_us"] == pytest.approx(
        mean["candidate"] - mean["baseline"]
    )
    assert told["batch_cost"]["delta_mean_low_us"] > 400
    assert told["batch_cost"]["confidence_mean_pct"] > 99
    assert told["steps_per_s"]["confidence_rate_pct"] > 99
    assert told["reader_cost"]["delta_mean_pct"] == 0
    assert told["steps_per_s"]["baseline_mean_us"] is None


@pytest.mark.parametrize(
    ("gate", "fails"),
    [
        ("throughput[measure=batch_cost].mean_us>+5%@95", True),
        ("throughput[measure=batch_cost].mean_us>+8%@95", False),
        ("throughput[measure=batch_cost].median_us>+0.2ms@99", True),
        ("throughput[measure=samples_per_s].rate_per_s<-5%@95", True),
        ("throughput[measure=samples_per_s].rate_per_s<1000", False),
        ("throughput[measure=reader_cost].mean_us>+0", False),
    ],
)
def test_gates(gate: str, fails: bool) -> None:
    view = compare(varied(10, 1), ALL, varied(10.6, 2), ALL)
    assert evaluate(view, gate).failed == fails


def test_chance_fails_no_gate_with_a_confidence() -> None:
    view = compare(varied(10, 1), ALL, varied(10, 3), ALL)
    assert not evaluate(view, "throughput[measure=batch_cost].mean_us>+0%@99").failed


def test_facts_tell_the_change_where_both_sides_were_timed() -> None:
    facts = {fact.key: fact for fact in compare(varied(10, 1), ALL, varied(10.6, 2), ALL).facts}
    assert facts["delta_batch_cost_us"].value == pytest.approx(600, rel=0.1)
    assert facts["confidence_batch_cost_pct"].value > 99  # type: ignore[operator]


def test_how_many_steps_a_profiler_recorded_matters_to_no_timer() -> None:
    """The run of a journal against one that is ten times as long: average steps are warned of."""
    view = compare(varied(10, 1), ALL, varied(10.6, 2, replace(RUN, steps=1000)), ALL)
    assert view.tables["average_step"].frame["confidence_duration_pct"].null_count() == 9
    assert rows(view)["batch_cost"]["confidence_mean_pct"] > 99
    assert evaluate(view, "throughput[measure=batch_cost].mean_us>+5%@95").failed
    with pytest.raises(GateError, match="Steps compared"):
        evaluate(view, "average_step.total_us>+5%@95")


def test_the_same_settings_forbid_nothing_where_only_one_side_recorded_operators() -> None:
    settings = {"matmul_precision": "highest"}
    timed = varied(10, 1, replace(RUN, settings=settings))
    made = t.columns([t.step(1, 0, 100), t.op("aten::mm", 0, 50, shape=[[4, 8], [8, 8]], **TYPES)])
    made.info = structs.replace(made.info, settings=timed.meta.info.settings)
    other = build_trace(made)
    around = compare(other, ALL, timed, ALL).tables["surroundings"].frame
    (row,) = around.filter(kind="precision").rows(named=True)
    assert "float32" in row["baseline"]
    assert row["same"] is None


def test_one_side_that_nothing_timed() -> None:
    other = t.trace([t.step(1, 0, 100), t.op("aten::mm", 0, 50)])
    view = compare(other, ALL, varied(10, 1), ALL)
    told = rows(view)["batch_cost"]
    assert told["baseline_mean_us"] is told["delta_mean_us"] is told["confidence_mean_pct"] is None
    assert told["candidate_mean_us"] is not None
    assert view.tables["throughput"].null_reasons["delta_mean_us"] == NOT_TIMED
    assert "delta_batch_cost_us" not in {fact.key for fact in view.facts}
    with pytest.raises(GateError, match="Nothing timed"):
        evaluate(view, "throughput[measure=batch_cost].mean_us>+5%")


def test_two_sides_that_nothing_timed_have_no_row() -> None:
    other = t.trace([t.step(1, 0, 100), t.op("aten::mm", 0, 50)])
    assert compare(other, ALL, other, ALL).tables["throughput"].why_empty == NOT_TIMED


def test_steps_of_which_something_is_not_known() -> None:
    blocks = blocks_of(RUN)
    last = [block for block in blocks if block["kind"] == "steps"][-1]
    last["samples"] = [None] * len(last["step"])
    view = compare(build_trace(journal_columns(blocks)), ALL, varied(10, 1), ALL)
    told = rows(view)
    assert told["samples_per_s"]["delta_rate_per_s"] is None
    assert told["steps_per_s"]["confidence_rate_pct"] is not None
    assert view.tables["throughput"].null_reasons["delta_rate_per_s"] == NOT_PER_STEP


def test_two_timers_of_programs(tmp_path: Path) -> None:
    """Nothing recorded a trace: the files that timers saved are compared."""
    traces = []
    for name, step_ms in (("before", 10), ("after", 12)):
        timer, numbers, now = Timer(), np.random.default_rng(step_ms), [0]
        timer._now = partial(now.__getitem__, 0)
        timer.begin()
        for _ in range(60):
            now[0] += step_ms * 1_000_000 + int(numbers.integers(0, 500_000))
            timer.step(8)
        timer.save(tmp_path / name / "rank0.throughput.json")
        journal = str(tmp_path / name / "rank0.record.jsonl")
        traces.append(open_file(Location(journal, journal), cache=None))
    view = compare(traces[0], ALL, traces[1], ALL)
    assert evaluate(view, "throughput[measure=batch_cost].mean_us>+15%@95").failed
    assert not evaluate(view, "throughput[measure=batch_cost].mean_us>+25%@95").failed


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 50, 1000])
def test_blocks_hold_every_step_once(count: int) -> None:
    sums = _of_blocks(np.arange(count, dtype=np.float64), np.sum)
    assert sum(sums) == sum(range(count))
    assert len(sums) == _blocks(count)
    assert (len(sums) >= 2) == (count >= 2)


@pytest.mark.parametrize(("alike", "most"), [(0.0, 0.08), (0.7, 0.11)])
def test_95_percent_are_wrong_about_once_in_twenty(alike: float, most: float) -> None:
    """Pairs of runs that do not differ, of steps of which each is ``alike`` the one before."""
    numbers, pairs, steps = np.random.default_rng(7), 500, 400
    noise = numbers.normal(size=(2, pairs, steps))
    for step in range(1, steps):
        noise[:, :, step] += alike * noise[:, :, step - 1]
    sides = [
        moments(np.array([_of_blocks(run, np.mean) for run in side[:, 50:]])) for side in noise
    ]
    wrong = (confidence_pct(*sides) >= 95).mean()
    assert 0.02 < wrong < most
    if alike:
        naive = (confidence_pct(*(moments(side[:, 50:]) for side in noise)) >= 95).mean()
        assert naive > 0.3
