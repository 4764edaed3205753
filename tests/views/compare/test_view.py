"""The comparison: a recording with itself, loaders with and without workers, unequal steps, and
differences counted by hand."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.helpers import traces as t
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.reports import csv
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.tables import FEW_STEPS
from torch_tb_profiler.views.compare.view import compare
from torch_tb_profiler.views.operators.view import operators
from torch_tb_profiler.views.schema import View

ALL = Selection()
LOADER = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"


def training(
    steps: int, *, first: int = 0, loader: str = "SingleProcess", load: int = 40, mm: int = 30
) -> Trace:
    """Steps of 200 µs: loading, one operator that launches one kernel, an optimizer. The operator
    takes 2 µs more in every other step."""
    events: list[t.Event] = []
    for number in range(steps):
        at, more = 1000 * number, 2 * (number % 2)
        events += [
            t.step(first + number, at, 200),
            t.op(LOADER.format(loader), at + 5, load, cat="user_annotation"),
            t.frame("nn.Module: Net_0", at + 90, 60, python_id=number, module=0),
            t.op("aten::mm", at + 100, mm + more),
            t.call("cudaLaunchKernel", at + 105, 5, corr=number + 1),
            t.kernel("gemm", at + 110, mm + more, corr=number + 1),
            t.annotation("Optimizer.step#SGD.step", at + 160, 20),
        ]
    return t.trace(events)


def rows(view: View, table: str, key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in view.tables[table].frame.rows(named=True)}


def facts(view: View) -> dict[str, Any]:
    return {fact.key: fact.value for fact in view.facts}


def test_a_recording_does_not_differ_from_itself() -> None:
    trace = training(4)
    view = compare(trace, ALL, trace, ALL)
    for table in view.tables.values():
        for column in table.spec.columns:
            if column.key.startswith(("delta_", "confidence_")) and not (
                column.key.endswith(("_low_us", "_high_us"))
            ):
                values = table.frame[column.key].drop_nulls()
                assert (values == 0).all(), (table.spec.name, column.key)
                if table.frame[column.key].null_count():
                    assert column.key in table.null_reasons, (table.spec.name, column.key)
    assert facts(view)["largest_change"] is None
    assert facts(view)["delta_total_us"] == 0
    assert view.notes == ()


def test_few_steps_are_the_only_reason_of_the_step() -> None:
    """What a side does not know of a category (here: without a device) is nothing of the step."""
    alone = t.trace([t.op("aten::mm", 0, 5)])
    view = compare(alone, ALL, alone, ALL)
    (sure,) = [fact for fact in view.facts if fact.key == "confidence_total_pct"]
    assert sure.value is None
    assert sure.reason == FEW_STEPS


def test_there_is_no_percentage_of_0() -> None:
    """Nothing copies: 0 → 0 µs is a difference of 0 µs, but of no percentage."""
    view = compare(training(2), ALL, training(2), ALL)
    row = rows(view, "average_step", "category")["Memcpy"]
    assert (row["baseline_duration_us"], row["delta_duration_us"]) == (0, 0)
    assert row["delta_duration_pct"] is None
    assert row["confidence_duration_pct"] == 0
    reason = view.tables["average_step"].null_reasons["delta_duration_pct"]
    assert reason == "The baseline is 0, so there is no percentage."


def damaged(trace: Trace, *issues: str) -> Trace:
    for issue in issues:
        trace.quality.add(issue, 2)
    return trace


def test_damage_is_noted_with_the_side_that_has_it() -> None:
    base = damaged(training(2), "truncated", "missing_duration")
    view = compare(base, ALL, damaged(training(2), "truncated"), ALL)
    cut, lengths = view.notes
    assert (cut.code, cut.severity) == ("truncated", "warning")
    assert cut.text.startswith("Baseline, Candidate: The file ends in the middle")
    assert cut.evidence == {
        "count": 4,
        "sides": ["baseline", "candidate"],
        "side_count": 2,
        "columns": [],
    }
    assert lengths.text.startswith("Baseline: Slices without a duration")
    columns = lengths.evidence["columns"]
    assert isinstance(columns, list)
    assert set(columns) >= {"baseline_host_self_us", "delta_host_self_us"}
    assert not any(key.startswith("candidate_") for key in columns)
    known = {column.key for table in view.tables.values() for column in table.spec.columns}
    assert {"baseline_host_self_us", "delta_host_self_us", "delta_total_us"} <= known


def test_steps_left_out_are_named_unless_they_were_asked_for() -> None:
    """The last step has one kernel where the step before has two."""
    events = [t.step(number, 1000 * number, 500) for number in range(3)]
    for corr, number in enumerate((0, 0, 1, 1, 2)):
        at = 1000 * number + 10 + 20 * corr
        events += [t.call("cudaLaunchKernel", at, 1, corr=corr), t.kernel("k", at, 5, corr=corr)]
    short = t.trace(events)
    view = compare(short, ALL, training(2), ALL)
    (note,) = [note for note in view.notes if note.code == "step_left_out"]
    assert note.evidence == {"steps": {"baseline": ["2"]}}
    assert note.text.endswith("Baseline: step 2.")
    asked = compare(short, Selection(steps="1:2"), training(2), ALL)
    assert "step_left_out" not in [note.code for note in asked.notes]


def test_values_are_those_of_each_view() -> None:
    base, other = training(4), training(4, mm=36)
    view = compare(base, ALL, other, ALL)
    row = rows(view, "operators", "name")["aten::mm"]
    for side, trace in (("baseline", base), ("candidate", other)):
        alone = operators(trace, ALL).tables["operators"].frame.row(0, named=True)
        assert alone["name"] == "aten::mm"
        for key in ("calls", "host_total_us", "host_self_us", "device_self_us"):
            assert row[f"{side}_{key}"] == alone[key]
    assert row["delta_device_self_us"] == 24
    assert row["delta_device_self_pct"] == pytest.approx(100 * 24 / 124)
    assert row["confidence_device_self_pct"] > 95
    kernel = rows(view, "kernels", "name")["gemm"]
    assert (kernel["delta_total_us"], kernel["delta_mean_us"]) == (24, 6)
    module = rows(view, "modules", "path")["Net_0"]
    assert module["delta_device_total_us"] == 24
    assert module["delta_host_total_us"] == 0


def test_confidence_is_welchs_over_step_sums() -> None:
    """Sums 30, 32, 30, 32 against 31, 33, 31, 33: t = 1 / √(2 · (4/3) / 4), 6 degrees of freedom;
    P(|T| ≥ 1.2247) = 0.26657 by the closed form for even degrees of freedom."""
    view = compare(training(4), ALL, training(4, mm=31), ALL)
    row = rows(view, "operators", "name")["aten::mm"]
    assert row["confidence_device_self_pct"] == pytest.approx(100 * (1 - 0.26657), abs=0.01)


def test_nothing_is_certain_and_counts_are_whole() -> None:
    baseline, candidate = training(4), training(4, mm=60)
    view = compare(baseline, ALL, candidate, ALL)
    row = rows(view, "kernels", "name")["gemm"]
    assert 99.9 < row["confidence_total_pct"] < 100
    for name in ("phases", "operators", "kernels", "modules"):
        table = view.tables[name]
        for column in table.spec.columns:
            if column.unit == "count":
                assert column.type == "integer"
                assert table.frame[column.key].dtype == pl.Int64
    assert (row["baseline_calls"], row["candidate_calls"], row["delta_calls"]) == (4, 4, 0)
    assert b"gemm,,,,4,4,0," in csv.dumps(view.tables["kernels"])


def test_counts_per_step_may_have_fractions() -> None:
    events = [t.step(n, 100 * n, 100) for n in range(4)]
    events += [t.op("aten::mm", 100 * n + 10, 20) for n in (0, 1, 2)]
    view = compare(t.trace(events), Selection(group_by="per_step"), training(2), ALL)
    row = rows(view, "operators", "name")["aten::mm"]
    assert (row["baseline_calls"], row["candidate_calls"]) == (0.75, 1)
    kinds = {column.key: column.type for column in view.tables["operators"].spec.columns}
    assert (kinds["baseline_calls"], kinds["candidate_calls"]) == ("number", "integer")


def test_loaders_of_another_kind_are_the_same_phase() -> None:
    base = training(4)
    view = compare(base, ALL, training(4, loader="MultiProcessing", load=4), ALL)
    assert view.facts[0].key == "delta_total_us"
    assert facts(view)["largest_change"] == "DataLoader"
    assert facts(view)["delta_dataloader_us"] == -36
    phase = rows(view, "phases", "phase")["DataLoader"]
    assert phase["baseline_names"] == LOADER.format("SingleProcess")
    assert phase["candidate_names"] == LOADER.format("MultiProcessing")
    assert (phase["baseline_host_total_us"], phase["candidate_host_total_us"]) == (160, 16)
    assert set(rows(view, "phases", "phase")) == {"DataLoader", "Forward", "Optimizer.step"}


def test_unequal_numbers_of_steps_are_compared_per_step() -> None:
    view = compare(training(2), ALL, training(6, first=10), ALL)
    row = rows(view, "operators", "name")["aten::mm"]
    assert (row["baseline_calls"], row["candidate_calls"]) == (1, 1)
    assert row["delta_host_total_us"] == 0
    assert facts(view)["values_per_step"] is True
    assert [note.code for note in view.notes] == ["per_step"]
    total = compare(training(2), ALL, training(6), Selection(group_by="total"))
    assert rows(total, "operators", "name")["aten::mm"]["delta_calls"] == 4
    steps = view.tables["steps"].frame
    assert steps["baseline_step"].to_list() == ["0", "1", None, None, None, None]
    assert steps["candidate_step"].to_list() == ["10", "11", "12", "13", "14", "15"]
    assert steps["delta_total_us"].null_count() == 4


def test_a_selection_narrows_each_side() -> None:
    view = compare(training(4), Selection(steps="0"), training(4), Selection(steps="1"))
    assert rows(view, "operators", "name")["aten::mm"]["delta_device_self_us"] == 2
    (note,) = view.notes
    assert note.code == "too_few_steps"
    table = view.tables["operators"]
    assert table.frame["confidence_device_self_pct"].null_count() == table.frame.height
    assert "two steps" in table.null_reasons["confidence_device_self_pct"]


def test_what_only_one_side_ran_is_zero_on_the_other() -> None:
    base = training(2)
    events = [t.step(0, 0, 200), t.op("aten::relu", 10, 8), t.step(1, 300, 200)]
    events += [t.op("aten::relu", 310, 8)]
    view = compare(base, ALL, t.trace(events), ALL)
    found = rows(view, "operators", "name")
    assert found["aten::mm"]["candidate_calls"] == 0
    assert found["aten::relu"]["delta_host_total_us"] == 16
    assert found["aten::relu"]["delta_host_total_pct"] is None
    assert found["aten::mm"]["candidate_device_self_us"] is None
    assert "no device work" in view.tables["operators"].null_reasons["candidate_device_self_us"]


def test_a_wrong_selection_is_refused() -> None:
    with pytest.raises(SelectionError, match=r"^baseline steps: there is no step"):
        compare(training(2), Selection(steps="99"), training(2), ALL)
    with pytest.raises(SelectionError, match=r"^steps: there is no step"):
        compare(training(2), ALL, training(2), Selection(steps="99"))
    with pytest.raises(SelectionError, match="group_by"):
        compare(training(2), ALL, training(2), Selection(group_by="name"))


def test_traces_without_events_or_steps_are_compared() -> None:
    empty = t.trace([])
    view = compare(empty, ALL, empty, ALL)
    assert facts(view)["largest_change"] is None
    bare = t.trace([t.op("aten::a", 0, 10)])
    assert rows(compare(empty, ALL, bare, ALL), "operators", "name")["aten::a"]["delta_calls"] == 1


def load(path: Path) -> tuple[Trace, list[dict[str, Any]]]:
    with gzip.open(path) as file:
        content = json.load(file)
    events = content.pop("traceEvents")
    return t.trace(events, **content), events


def test_workers_for_the_slow_loader_show_as_data_loading_first(samples: Path) -> None:
    """The samples differ in num_workers only: the loader must be named first, with the
    milliseconds that the raw JSON gives per step."""
    (slow,) = (samples / "cpu_slowloader_nw0").glob("*.json.gz")
    (quick,) = (samples / "cpu_slowloader_nw2").glob("*.json.gz")
    (base, base_events), (other, other_events) = load(slow), load(quick)
    view = compare(base, ALL, other, ALL)
    per_step = []
    for events in (base_events, other_events):
        steps = {e["name"] for e in events if e["name"].startswith("ProfilerStep#")}
        loading = [e["dur"] for e in events if e["name"].startswith("enumerate(DataLoader)#")]
        per_step.append(sum(loading) / len(steps))
    assert view.facts[0].key == "delta_total_us"
    assert facts(view)["largest_change"] == "DataLoader"
    change = facts(view)["delta_dataloader_us"]
    assert change == pytest.approx(per_step[1] - per_step[0], abs=1)
    assert per_step[1] - per_step[0] < -20_000
    row = rows(view, "average_step", "category")["DataLoader"]
    assert row["confidence_duration_pct"] > 99.9
    assert row["delta_duration_low_us"] < row["delta_duration_us"] < row["delta_duration_high_us"]


def test_the_variation_of_real_steps_is_that_of_their_sums(samples: Path) -> None:
    (path,) = (samples / "cpu_resnet_full").glob("*.json.gz")
    trace, events = load(path)
    view = compare(trace, Selection(steps="2:4"), trace, Selection(steps="5:6"))
    steps = sorted(
        (e for e in events if e["name"].startswith("ProfilerStep#")), key=lambda e: e["ts"]
    )
    lengths = [e["dur"] for e in steps]
    row = rows(view, "average_step", "category")["Total"]
    assert row["delta_duration_us"] == pytest.approx(
        statistics.mean(lengths[3:5]) - statistics.mean(lengths[:3]), abs=0.1
    )
    middle = (row["delta_duration_low_us"] + row["delta_duration_high_us"]) / 2
    assert middle == pytest.approx(row["delta_duration_us"])


def test_a_kernel_that_ran_on_one_side_has_no_mean_on_the_other() -> None:
    call = t.call("cudaLaunchKernel", 15, 5, corr=1)
    other = t.trace([t.step(0, 0, 200), call, t.kernel("other", 20, 40, corr=1)])
    view = compare(training(4), ALL, other, ALL)
    row = rows(view, "kernels", "name")["gemm"]
    assert (row["baseline_mean_us"], row["candidate_mean_us"]) == (31.0, None)
    assert (row["delta_mean_us"], row["delta_mean_pct"]) == (None, None)
    assert (row["candidate_calls"], row["delta_calls"]) == (0.0, -1.0)
    assert "no call" in view.tables["kernels"].null_reasons["candidate_mean_us"]
